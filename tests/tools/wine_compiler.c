/* The C compiler of Python under Wine, which does not run zig: passes its arguments and its input through files to
 * wine.py, which compiles outside of Wine, and gives the answer. CC_QUEUE names the folder of the files. */
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

static char block[1 << 16];

static void copy(FILE *from, FILE *to)
{
    size_t n;
    while ((n = fread(block, 1, sizeof block, from))) fwrite(block, 1, n, to);
}

int main(int count, char **words)
{
    char base[600], path[700], request[700];
    int code = 90;
    snprintf(base, sizeof base, "%s\\%lu-%lu", getenv("CC_QUEUE"), GetCurrentProcessId(), GetTickCount());
    snprintf(path, sizeof path, "%s.in", base);
    FILE *file = fopen(path, "wb");
    if (!file) return code;
    _setmode(0, _O_BINARY), copy(stdin, file), fclose(file);
    snprintf(path, sizeof path, "%s.words", base), snprintf(request, sizeof request, "%s.request", base);
    file = fopen(path, "wb");
    for (int i = 1; i < count; i++) fprintf(file, "%s\n", words[i]);
    fclose(file), rename(path, request);
    snprintf(path, sizeof path, "%s.answer", base);
    while (!(file = fopen(path, "rb"))) Sleep(5);
    fscanf(file, "%d\n", &code), copy(file, stdout), fclose(file), remove(path);
    return code;
}
