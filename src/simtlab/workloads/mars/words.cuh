// Words that end in zero, as keys: they are compared by a hash of theirs first, and letter by letter where that is the same.

struct Word {
    unsigned char *text;
    int place, hash;
};

__device__ int hashOf(const unsigned char *word, int bytes)
{
    int hash = bytes;
#pragma unroll 1
    for (int i = 0; i < bytes; i++)
        hash = int(unsigned(hash) << 4) ^ (hash >> 28) ^ word[i];
    return hash;
}

__device__ int compare(const char *keys, int4 a, int4 b)
{
    const Word *one = (const Word *)(keys + a.x), *other = (const Word *)(keys + b.x);
    const int hash = one->hash, otherHash = other->hash;
    if (hash != otherHash)
        return hash > otherHash ? 1 : -1;
    const unsigned char *p = one->text + one->place, *q = other->text + other->place;
    unsigned char c = *p, d = *q;
#pragma unroll 1
    while (c == d && c != 0) {
        c = *++p;
        d = *++q;
    }
    return int(c) - int(d);
}

// Of one word, the record that was emitted first.
__device__ bool before(const char *keys, int4 a, int4 b)
{
    if (isPadding(a) || isPadding(b))
        return !isPadding(a);
    const int order = compare(keys, a, b);
    return order != 0 ? order < 0 : a.z < b.z;
}

__device__ bool sameKey(const char *keys, int4 a, int4 b) { return compare(keys, a, b) == 0; }
