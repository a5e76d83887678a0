"""AES: a picture encrypted (or decrypted) block by block with a key of 128 or 256 bits.

Suite: ISPASS (GPGPU-Sim's benchmarks of 2009, after S. Manavski). Irregular: which word a thread looks up depends on the data.
A thread has one column of a block. Tables are copied from constant to shared memory, each thread of a warp another word, and
looked up there at random, with bank conflicts; round keys come through a texture, four words that all blocks read. Global
memory is read and written once, coalesced. `decrypt=True` and `key_bits=256` choose the suite's other kernels.
"""

import struct
from typing import Any

import numpy as np

from simtlab.workloads.errors import require
from simtlab.workloads.images import grey_levels, natural

NAME = "AES"
SUITE = "ISPASS 2009"
CATEGORY = "irregular"
PAPERS = ("DYNCTA",)
DYNCTA_TYPE = "Type-M"
SIZES = {
    "tiny": {"side": 36},
    "small": {"side": 432},
    "paper": {"side": 256},  # the suite's picture: 262,198 bytes, 257 CTAs
}
FILES = {"image": "image"}
THREADS = 256
CTA_BYTES = 4 * THREADS
ROUNDS = {128: 10, 256: 14}
MIX, UNMIX = (2, 1, 1, 3), (14, 9, 13, 11)  # first columns of MixColumns and its inverse; the others are turned
COLUMN = np.arange(4)


def inputs(
    *, side: int = 0, key_bits: int = 128, decrypt: bool = False, seed: int = 0, image: np.ndarray | None = None
) -> dict[str, Any]:
    """The bytes of a picture, filled up with zeros to whole CTAs, and a random key."""
    require(key_bits in ROUNDS, f"AES: key_bits is {key_bits}; it must be 128 or 256")
    if image is None:
        require(side >= 1, f"AES: side is {side}; the picture must have 1 x 1 pixel at least")
        image = natural(side, side, seed)
    text = bitmap(image)
    key = np.random.default_rng([seed, key_bits]).integers(0, 256, key_bits // 8, dtype=np.uint8)
    return {"text": np.pad(text, (0, -len(text) % CTA_BYTES)), "key": key, "decrypt": decrypt}


def bitmap(image: np.ndarray) -> np.ndarray:
    """A BMP file with 32 bits a pixel, as the suite's."""
    height, width = image.shape
    pixels = np.repeat(grey_levels(image)[::-1, :, None], 4, axis=2)
    pixels[..., 3] = 0
    sizes = (54 + pixels.size, 0, 54, 40, width, height, 1, 32, 0, pixels.size, 2835, 2835, 0, 0)
    return np.concatenate([np.frombuffer(struct.pack("<2sIIIIiiHHIIiiII", b"BM", *sizes), np.uint8), pixels.ravel()])


# The field of 256 elements, substitution and keys (FIPS-197, 4 and 5) ------------------------------------------------------


def times(a: np.ndarray, b: int) -> np.ndarray:
    """Products in the field of 256 elements, modulo x^8 + x^4 + x^3 + x + 1."""
    product, power = np.zeros_like(a), a.astype(np.int64)
    for k in range(8):
        product = product ^ (power if b >> k & 1 else 0)
        power = (power << 1) ^ np.where(power & 0x80, 0x11B, 0)
    return product


def substitution() -> np.ndarray:
    """The inverse in the field, then an affine map of its bits."""
    elements = np.arange(256)
    inverse = np.array([int(np.argmax(times(elements, x) == 1)) if x else 0 for x in range(256)])
    turns = [(inverse << k | inverse >> 8 - k) & 0xFF for k in range(5)]
    return (np.bitwise_xor.reduce(turns) ^ 0x63).astype(np.uint8)


SUBSTITUTE = substitution()
RESTORE = np.argsort(SUBSTITUTE).astype(np.uint8)
PRODUCTS = {factor: times(np.arange(256), factor).astype(np.uint8) for factor in MIX + UNMIX}


def mixed(columns: np.ndarray, first: tuple[int, ...]) -> np.ndarray:
    """Columns (rows of bytes) times the matrix whose first column this is and whose others are turned one further each."""
    turned = [[PRODUCTS[first[(i - j) % 4]][columns[..., j]] for j in range(4)] for i in range(4)]
    return np.stack([np.bitwise_xor.reduce(products) for products in turned], -1)


def expanded(key: np.ndarray) -> np.ndarray:
    """The round keys as words of four bytes (FIPS-197, 5.2)."""
    words = list(key.reshape(-1, 4))
    length, constant = len(words), 1
    for k in range(length, 4 * (ROUNDS[8 * key.size] + 1)):
        word = words[-1]
        if k % length == 0:
            word = SUBSTITUTE[np.roll(word, -1)]
            word[0] ^= constant
            constant = int(times(np.array([constant]), 2)[0])
        elif length > 6 and k % length == 4:
            word = SUBSTITUTE[word]
        words.append(words[k - length] ^ word)
    return np.array(words)


def inverse_keys(words: np.ndarray) -> np.ndarray:
    """Round keys in the order of decryption; all but the outermost are unmixed (FIPS-197, 5.3.5)."""
    rounds = words.reshape(-1, 4, 4)[::-1].copy()
    rounds[1:-1] = mixed(rounds[1:-1], UNMIX)
    return rounds.reshape(-1, 4)


# The program -------------------------------------------------------------------------------------------------------------


def tables(substitute: np.ndarray, first: tuple[int, ...]) -> np.ndarray:
    """What each byte of each row adds to its column, as words."""
    alone = np.zeros((4, 256, 4), np.uint8)
    alone[COLUMN, :, COLUMN] = substitute
    return words_of(mixed(alone, first))


def words_of(columns: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(columns).view("<u4")[..., 0]


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    decrypt, keys = data["decrypt"], expanded(data["key"])
    if decrypt:
        looked_up, keys = np.concatenate([tables(RESTORE, UNMIX), RESTORE[None].astype(np.uint32)]), inverse_keys(keys)
    else:
        looked_up = tables(SUBSTITUTE, MIX)
    launcher.module.variable("TBoxi" if decrypt else "TBox", "u4")[...] = looked_up.ravel()
    columns = (COLUMN[:, None] + (-1 if decrypt else 1) * np.arange(4)) % 4
    launcher.module.variable("posIdx_D" if decrypt else "posIdx_E", "u1")[...] = columns.ravel().astype(np.uint8)
    given = launcher.array(data["text"].view("<u4"), label="input")
    result = launcher.zeros(len(given), "u4", label="result")
    key = launcher.gpu.texture(launcher.array(words_of(keys), label="round keys"))
    kernel = f"aes{'Decrypt' if decrypt else 'Encrypt'}{8 * data['key'].size}"
    launcher.launch(kernel, len(given) // THREADS, THREADS, [result, given, key])
    return {"text": result.numpy().view(np.uint8)}


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    """The standard's steps one by one on all blocks; a state is indexed by block, column and row."""
    state = data["text"].reshape(-1, 4, 4)
    keys = expanded(data["key"]).reshape(-1, 4, 4)
    last = len(keys) - 1
    if data["decrypt"]:
        state = state ^ keys[last]
        for k in range(last - 1, -1, -1):
            state = RESTORE[shifted(state, -1)] ^ keys[k]
            state = mixed(state, UNMIX) if k else state
    else:
        state = state ^ keys[0]
        for k in range(1, last + 1):
            state = shifted(SUBSTITUTE[state], 1)
            state = (mixed(state, MIX) if k < last else state) ^ keys[k]
    return {"text": state.ravel()}


def shifted(state: np.ndarray, by: int) -> np.ndarray:
    return np.stack([np.roll(state[..., row], -by * row, axis=1) for row in range(4)], axis=-1)
