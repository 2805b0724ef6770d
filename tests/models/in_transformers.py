"""Models of `transformers` from small configurations, with random weights.

model, inputs = MODELS["bert"].module(), MODELS["bert"].inputs(2, 8)
program, is_open = exported(MODELS["bert"])       # which of batch and length stay open
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import transformers
from torch.export import Dim, ExportedProgram


class Outputs(torch.nn.Module):
    """A model as a function of tensors that gives a tuple of tensors."""

    def __init__(self, model: torch.nn.Module, call: Callable[..., Any]) -> None:
        super().__init__()
        self.model = model
        self.call = call

    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        found = self.call(self.model, *inputs)
        return found if isinstance(found, tuple) else (found,)


@dataclass(frozen=True)
class Model:
    """A model, and its inputs for a batch and a length."""

    module: Callable[[], torch.nn.Module]
    inputs: Callable[[int, int], tuple[torch.Tensor, ...]]
    length: int | None = 1  # the axis of the first input that is the length, if there is one


WORDS, WIDTH, HEADS = 99, 32, 4


def ids(batch: int, length: int) -> torch.Tensor:
    return torch.randint(1, WORDS, (batch, length))


def mask(batch: int, length: int) -> torch.Tensor:
    found = torch.ones(batch, length, dtype=torch.int64)
    found[0, length // 2 :] = 0
    return found


def text(kind: str, **settings: Any) -> Callable[[], torch.nn.Module]:
    """An encoder of text."""

    def made() -> torch.nn.Module:
        config = getattr(transformers, f"{kind}Config")(vocab_size=WORDS, **settings)
        model = getattr(transformers, f"{kind}Model")(config)
        return Outputs(model, lambda m, ids, mask: m(ids, attention_mask=mask).last_hidden_state)

    return made


def of_images(kind: str, name: str, **settings: Any) -> Callable[[], torch.nn.Module]:
    """A model of images."""

    def made() -> torch.nn.Module:
        config = getattr(transformers, f"{kind}Config")(**settings)
        model = getattr(transformers, f"{kind}{name}")(config)
        return Outputs(model, lambda m, images: m(images, return_dict=False)[0])

    return made


def images(size: int) -> Callable[[int, int], tuple[torch.Tensor, ...]]:
    return lambda batch, length: (torch.randn(batch, 3, size, size),)


def masked(batch: int, length: int) -> tuple[torch.Tensor, ...]:
    return ids(batch, length), mask(batch, length)


def gpt2() -> torch.nn.Module:
    config = transformers.GPT2Config(
        vocab_size=WORDS, n_embd=WIDTH, n_layer=2, n_head=HEADS, n_positions=128
    )

    def call(model: Any, ids: torch.Tensor, *past: torch.Tensor) -> tuple[torch.Tensor, ...]:
        cache = transformers.DynamicCache()
        for layer in range(2):
            cache.update(past[2 * layer], past[2 * layer + 1], layer)
        found = model(ids, past_key_values=cache, use_cache=True)
        keys = [part for layer in cache.layers for part in (layer.keys, layer.values)]
        return (found.logits, *keys)

    return Outputs(transformers.GPT2LMHeadModel(config), call)


def with_past(batch: int, length: int) -> tuple[torch.Tensor, ...]:
    past = [torch.randn(batch, HEADS, length + 1, WIDTH // HEADS) for _ in range(4)]
    return ids(batch, 3), *past


def t5_config() -> Any:
    return transformers.T5Config(
        vocab_size=WORDS, d_model=WIDTH, d_kv=8, d_ff=64, num_layers=2, num_heads=HEADS
    )


def t5_encoder() -> torch.nn.Module:
    return Outputs(
        transformers.T5EncoderModel(t5_config()),
        lambda m, ids, mask: m(ids, attention_mask=mask).last_hidden_state,
    )


def t5_decoder() -> torch.nn.Module:
    def call(model: Any, ids: torch.Tensor, encoded: torch.Tensor) -> torch.Tensor:
        found = model(decoder_input_ids=ids, encoder_outputs=(encoded,), use_cache=False)
        return found.logits

    return Outputs(transformers.T5ForConditionalGeneration(t5_config()), call)


def llama() -> torch.nn.Module:
    config = transformers.LlamaConfig(
        vocab_size=WORDS,
        hidden_size=WIDTH,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=HEADS,
        num_key_value_heads=2,
    )
    model = transformers.LlamaForCausalLM(config)
    return Outputs(model, lambda m, ids: m(ids, use_cache=False).logits)


def mamba() -> torch.nn.Module:
    config = transformers.MambaConfig(
        vocab_size=WORDS, hidden_size=WIDTH, state_size=8, num_hidden_layers=2
    )
    model = transformers.MambaForCausalLM(config)
    return Outputs(model, lambda m, ids: m(ids, use_cache=False).logits)


def whisper_encoder() -> torch.nn.Module:
    config = transformers.WhisperConfig(
        vocab_size=WORDS,
        d_model=WIDTH,
        encoder_layers=2,
        decoder_layers=1,
        encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        num_mel_bins=16,
        max_source_positions=20,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
    )
    encoder = transformers.WhisperModel(config).encoder
    return Outputs(encoder, lambda m, sounds: m(sounds).last_hidden_state)


def clip() -> torch.nn.Module:
    parts = {
        "hidden_size": WIDTH,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": HEADS,
        "projection_dim": 16,
    }
    config = transformers.CLIPConfig(
        text_config={"vocab_size": WORDS, "eos_token_id": 98, **parts},
        vision_config={"image_size": 32, "patch_size": 8, **parts},
        projection_dim=16,
    )

    def call(model: Any, ids: torch.Tensor, images: torch.Tensor) -> tuple[torch.Tensor, ...]:
        found = model(input_ids=ids, pixel_values=images)
        return found.logits_per_image, found.text_embeds, found.image_embeds

    return Outputs(transformers.CLIPModel(config), call)


def wav2vec2() -> torch.nn.Module:
    config = transformers.Wav2Vec2Config(
        vocab_size=WORDS,
        hidden_size=WIDTH,
        num_hidden_layers=2,
        num_attention_heads=HEADS,
        intermediate_size=64,
        conv_dim=(16, 16, 16),
        conv_kernel=(10, 3, 3),
        conv_stride=(5, 2, 2),
        num_conv_pos_embeddings=16,
        num_conv_pos_embedding_groups=4,
    )
    model = transformers.Wav2Vec2Model(config)
    return Outputs(model, lambda m, sounds: m(sounds).last_hidden_state)


MODELS: dict[str, Model] = {
    "bert": Model(
        text(
            "Bert",
            hidden_size=WIDTH,
            num_hidden_layers=2,
            num_attention_heads=HEADS,
            intermediate_size=64,
        ),
        masked,
    ),
    "distilbert": Model(
        text("DistilBert", dim=WIDTH, n_layers=2, n_heads=HEADS, hidden_dim=64), masked
    ),
    "gpt2 with past": Model(gpt2, with_past, length=None),
    "t5 encoder": Model(t5_encoder, masked),
    "t5 decoder": Model(t5_decoder, lambda b, n: (ids(b, n), torch.randn(b, 7, WIDTH))),
    "llama": Model(llama, lambda b, n: (ids(b, n),)),
    "mamba": Model(mamba, lambda b, n: (ids(b, n),)),
    "whisper encoder": Model(whisper_encoder, lambda b, n: (torch.randn(b, 16, 40),), None),
    "clip": Model(clip, lambda b, n: (ids(b, n), torch.randn(b, 3, 32, 32))),
    "wav2vec2": Model(wav2vec2, lambda b, n: (torch.randn(b, 400 + 40 * n),)),
    "vit": Model(
        of_images(
            "ViT",
            "Model",
            image_size=32,
            patch_size=8,
            hidden_size=WIDTH,
            num_hidden_layers=2,
            num_attention_heads=HEADS,
            intermediate_size=64,
        ),
        images(32),
        None,
    ),
    "swin": Model(
        of_images(
            "Swin",
            "Model",
            image_size=32,
            patch_size=2,
            embed_dim=16,
            depths=[1, 2],
            num_heads=[2, 4],
            window_size=4,
        ),
        images(32),
        None,
    ),
    "resnet": Model(
        of_images(
            "ResNet",
            "ForImageClassification",
            embedding_size=16,
            hidden_sizes=[16, 32],
            depths=[1, 2],
            layer_type="basic",
        ),
        images(32),
        None,
    ),
    "mobilenet v2": Model(
        of_images("MobileNetV2", "ForImageClassification", image_size=64, depth_multiplier=0.35),
        images(64),
        None,
    ),
    "segformer": Model(
        of_images(
            "Segformer",
            "ForSemanticSegmentation",
            hidden_sizes=[8, 16, 24, 32],
            depths=[1, 1, 1, 1],
            num_attention_heads=[1, 2, 2, 4],
            decoder_hidden_size=16,
            num_labels=5,
        ),
        images(64),
        None,
    ),
}


@dataclass(frozen=True)
class Exported:
    """An exported model, its eager original, and which of batch and length stayed open."""

    program: ExportedProgram
    eager: torch.nn.Module
    batch: bool
    length: bool


def exported(model: Model) -> Exported:
    """The model, exported for all sizes that torch can leave open."""
    torch.manual_seed(0)
    module, inputs = model.module().eval(), model.inputs(2, 8)
    other = model.inputs(3, 9)
    shapes = tuple(
        {
            axis: Dim.AUTO
            for axis, (size, another) in enumerate(zip(one.shape, two.shape, strict=True))
            if size != another
        }
        for one, two in zip(inputs, other, strict=True)
    )
    with torch.no_grad(), warnings.catch_warnings(action="ignore"):
        program = torch.export.export(module, inputs, dynamic_shapes=(shapes,), strict=False)
    declared = [
        call.meta["val"]
        for call in program.graph.nodes
        if call.op == "placeholder" and call.name in program.graph_signature.user_inputs
    ]
    open_sizes = [
        {axis for axis, size in enumerate(one.shape) if is_open(size)} for one in declared
    ]
    batch = all(0 in found for found in open_sizes)
    lengths = [set(wanted) - {0} <= found for wanted, found in zip(shapes, open_sizes, strict=True)]
    return Exported(program, module, batch, all(lengths))


def is_open(size: int | torch.SymInt) -> bool:
    return isinstance(size, torch.SymInt) and not size.node.expr.is_number


def several(model: Model, found: Exported) -> list[tuple[torch.Tensor, ...]]:
    """Inputs of three sizes, as far as the exported model leaves them open."""
    torch.manual_seed(1)
    sizes = [(2, 8), (3, 5), (5, 13)]
    return [
        model.inputs(batch if found.batch else 2, length if found.length else 8)
        for batch, length in sizes
    ]
