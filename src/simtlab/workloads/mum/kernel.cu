// Matches of many short reads with a reference, one read a thread. The reference's suffix tree is in two textures, a texel a node:
// where the edge to it begins and ends in the reference, and its suffix link; and its children for A, C, G and T. A read is followed
// down from the root; for its next suffix, the suffix link of the last node above leads on, and what is known to match is skipped.

#define ROOT (1u << 16)  // node 1; an address is x in the lower and y in the upper half, and 0 is no node

struct Match {
    unsigned node;
    short onEdge;  // letters on the edge to the node; 0 for the whole edge
};

// 32 nodes that follow one another are above one another.
__device__ unsigned numberOf(unsigned address)
{
    const unsigned x = address & 0xffff, y = address >> 16;
    return (x << 5) + (y & 31) + (y >> 5 << 17);
}

__device__ uint4 texel(cudaTextureObject_t texture, unsigned address)
{
    return tex2D<uint4>(texture, address & 0xffff, address >> 16);
}

// Four letters that follow one another are above one another.
__device__ char letterOf(cudaTextureObject_t reference, int place)
{
    const int column = place & 0x3ffff;
    return tex2D<unsigned char>(reference, column >> 2, (place >> 18 << 2) + (column & 3));
}

__device__ unsigned childOf(uint4 children, char letter)
{
    switch (letter) {
    case 'A':
        return children.x;
    case 'C':
        return children.y;
    case 'G':
        return children.z;
    case 'T':
        return children.w;
    }
    return 0;
}

// A read has a mark before its first letter and a zero after its last, so that `next` letters of it are `next` - 1 bases.
extern "C" __global__ void mummergpuKernel(cudaTextureObject_t nodes, cudaTextureObject_t childrenOf, cudaTextureObject_t reference,
                                           Match *matches, const char *reads, const int *places, const int *lengths, int count,
                                           int shortest)
{
    const int read = blockIdx.x * blockDim.x + threadIdx.x;
    if (read >= count)
        return;
    const int last = lengths[read] - shortest;
    const int place = places[read];
    const char *letters = reads + place;
    Match *match = matches + place - read * (shortest + 1);

    unsigned here = 0;
    int next = 0, known = 0;
#pragma unroll 1
    for (int start = 0; start <= last; start++, letters++, match++) {
        if (here == 0 || next < 1) {
            here = ROOT;
            next = 1;
            known = 0;
        }
        unsigned above = here;
        uint4 node = {0, 0, 0, 0};
        int at = 0;
        char letter = letters[next];
#pragma unroll 1
        while (letter != 0) {
            above = here;
            here = childOf(texel(childrenOf, above), letter);
            if (here == 0)
                break;
            node = texel(nodes, here);
            const int end = node.y;
            if (known > 0) {
                const int skipped = min(known, end - int(node.x) + 1);
                at = node.x + skipped;
                next += skipped;
                known -= skipped;
            } else {  // the child's first letter is the one it was chosen by
                at = node.x + 1;
                next++;
            }
            letter = letters[next];
#pragma unroll 1
            while (at <= end && letter != 0 && letterOf(reference, at) == letter) {
                at++;
                letter = letters[++next];
            }
            if (at <= end)
                break;
        }
        const int onEdge = here == 0 ? 0 : at - int(node.x);
        if (next > shortest) {
            match->node = numberOf(here == 0 ? above : here);
            match->onEdge = onEdge;
        }
        known = onEdge;
        next -= onEdge + 1;
        here = texel(nodes, above).w;
    }
}
