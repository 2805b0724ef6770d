"""Write programs as text, let inference find shapes, and read what it says about wrong ones."""

import relay

mod = relay.parse(
    """
    #[version = "0.0.5"]
    def @append_row[n](%x: Tensor[(n, 3), float32]) {
      concatenate((%x, zeros(shape=[1, 3], dtype="float32")), axis=0)
    }
    def @main(%x: Tensor[(4, 3), float32]) {
      nn.dense(@append_row(@append_row(%x)), meta[relay.Constant][0])
    }
    """.strip(),
    init_meta_table={"relay.Constant": [relay.const([[1.0, 2.0, 3.0]])]},
)
print("@append_row :", mod["append_row"].checked_type)
print("@main       :", mod["main"].checked_type)

wrong = """#[version = "0.0.5"]
def @main(%x: Tensor[(8, 32), float32], %y: Tensor[(8, 64), float32]) {
  %0 = nn.relu(%x);
  add(%0, %y)
}
"""
try:
    relay.parse(wrong, "model.relay")
except relay.TypeCheckError as error:
    print(f"\n{error}")

missing_case = """#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil }
def @first_two(%xs: List[int32]) {
  match (%xs) {
    Cons(%a, Cons(%b, _)) => %a + %b,
  }
}
"""
try:
    relay.parse(missing_case, "lists.relay")
except relay.TypeCheckError as error:
    print(f"\n{error}")
