// Inverted index as a MapReduce job: a task reads some lines of a page and emits every link that it finds, with the page's number.
// The sort brings the same links together; there is no reduce.

#include "../mars/tasks.cuh"
#include "../mars/words.cuh"

struct Part {
    int place, bytes, page;
};

enum State { TEXT, TAG, ANCHOR, HREF };

__device__ bool beginsWithHref(const unsigned char *text)
{
    const char href[5] = {'h', 'r', 'e', 'f', 0};
    int i = 0;
#pragma unroll 1
    while (href[i] != 0 && text[i] == href[i])
        i++;
    return href[i] == 0;
}

// Reads <a href="LINK", where there may be spaces, and hands on where each link begins and ends. What ends a part is a zero.
template <typename Found>
__device__ void findLinks(unsigned char *text, int bytes, Found found)
{
    State state = TEXT;
#pragma unroll 1
    for (int i = 0; i < bytes; i++) {
        const unsigned char c = text[i];
        switch (state) {
        case TEXT:
            if (c == '<')
                state = TAG;
            break;
        case TAG:
            if (c != ' ')
                state = c == 'a' ? ANCHOR : TEXT;
            break;
        case ANCHOR:
            if (c == 'h' && beginsWithHref(text + i)) {
                state = HREF;
                i += 3;
            } else if (c != ' ') {
                state = TEXT;
            }
            break;
        case HREF:
            if (c == '"') {
                int end = i + 1;
#pragma unroll 1
                while (text[end] != '"' && text[end] != 0)
                    end++;
                if (text[end] == '"')
                    found(i + 1, end);
                i = end;
                state = TEXT;
            } else if (c != ' ' && c != '=') {
                state = TEXT;
            }
            break;
        }
    }
}

__device__ void mapCount(const char *key, const char *val, Sizes sizes)
{
    const Word *word = (const Word *)key;
    const Part *part = (const Part *)val;
    findLinks(word->text + part->place, part->bytes, [=](int begin, int end) { emitCount(sizes, sizeof(Word), sizeof(int)); });
}

// A link's key is written where the input's key is, and is copied from there.
__device__ void map(char *key, const char *val, Output output)
{
    Word *word = (Word *)key;
    const Part *part = (const Part *)val;
    unsigned char *text = word->text + part->place;
    findLinks(text, part->bytes, [=](int begin, int end) {
        text[end] = 0;
        word->place = part->place + begin;
        word->hash = hashOf(text + begin, end - begin);
        emit(output, key, (const char *)&part->page, sizeof(Word), sizeof(int));
    });
}
