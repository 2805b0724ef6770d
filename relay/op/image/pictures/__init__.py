"""Pictures from bytes: what `image.decode` is made of.

    problem    why bytes are no picture that is read
    header     what there is to know of a picture before its pixels
    formats    how each says it: bmp, jpeg, pnm, png, tiff
    expand     the bytes of its rows, out of what they are stored as: inflate, lzw, jpeg
    pixels     rows to pixels
    reference  all of it again in Python, for the interpreter

Everything but the reference writes loops. They run twice: the first time over the header and all
that is compressed, keeping nothing but a window of it, to find out what shape there will be and
that the bytes are good for it; then memory is allocated, and they run again into that.
"""
