// The help texts of the commands around data and metrics.
#include "cli/help.h"

namespace snug::cli {

std::string prepare_help() {
  return "snug prepare bpe FILE... FOLDER [options]\n"
         "snug prepare char INPUT FOLDER\n"
         "snug prepare shakespeare | shakespeare_char [FOLDER] [--url=URL]\n"
         "snug prepare tales FOLDER [--seed=N] [--bytes=N]\n\n"
         "bpe     GPT-2 tokens from text, JSON lines, gzip or zstd of either (told by\n"
         "        their content), a quoted pattern or - for standard input, of any size.\n"
         "        Writes train.bin and val.bin, or shards. When it is interrupted, the\n"
         "        same command goes on from there.\n"
         "        --documents=file|line|json  what a document is; .jsonl: json, else file\n"
         "        --field=text                the field of a JSON line that is the text\n"
         "        --skip-bad                  leave broken JSON lines out and count them\n"
         "        --eot=after|none            <|endoftext|> after each document, or not\n"
         "        --split=documents|characters  val.bin: documents by lot, or the last\n"
         "                                    characters; files: characters\n"
         "        --val=0.0005 or --val=10%   how much; 10% of characters,\n"
         "                                    0.0005 of documents\n"
         "        --format=nanogpt|llmc       raw uint16, or llm.c's shards of\n"
         "        --shard=100000000           so many tokens each\n"
         "        --seed=1337 --threads=N     of the lot; the result is the same for any N\n"
         "char    Your own UTF-8 text, one token per character: writes train.bin (the\n"
         "        first 90%), val.bin and meta.pkl to FOLDER, as nanoGPT does.\n"
         "shakespeare, shakespeare_char\n"
         "        nanoGPT's data sets of that name, under data/. Takes FOLDER/input.txt,\n"
         "        or fetches it.\n"
         "tales   The built-in corpus: very short tales from a grammar, about 1 MB. The\n"
         "        grammar knows how likely each of its choices was, so the lowest loss\n"
         "        that any model can reach is known too, and `train` shows it as the floor.\n\n"
         "  snug prepare bpe input.txt data/mine && snug train --dataset=mine ...\n"
         "  snug prepare bpe 'dump/*.jsonl.zst' data/web --format=llmc\n";
}

std::string data_help() {
  return "snug data FOLDER [--json]\n\n"
         "Describes a data set: tokens and files of train and val, the vocabulary,\n"
         "documents, tokens outside the vocabulary, and how it begins. Exit code 0, or 4\n"
         "when there are tokens outside the vocabulary, or ids of 32 bits in a file\n"
         "without a header.\n\n"
         "  snug data data/shakespeare_char\n";
}

std::string tokenize_help() {
  return "snug tokenize [--json] [--special] FILE | -\n"
         "snug tokenize --decode FILE | -\n\n"
         "The ids of GPT-2's tokenizer for any bytes, and the bytes of ids.\n\n"
         "  --json      one JSON array\n"
         "  --special   <|endoftext|> in the text is the token 50256, not eight others\n"
         "  --decode    reads ids, as printed here or from a .bin file, and writes their\n"
         "              text\n\n"
         "  echo -n 'Hello world' | snug tokenize --json -\n"
         "  snug tokenize --decode data/shakespeare/val.bin | head\n";
}

std::string plot_help() {
  return "snug plot OUT_DIR... [--out=FILE.html]\n\n"
         "Draws the losses of one or more runs over each other, from their metrics.jsonl:\n"
         "one page that needs nothing else, plot.html, and plot.svg beside it. Where the\n"
         "data has an entropy floor, it is drawn too.\n\n"
         "  --out=FILE  the page's name; the drawing gets the same with .svg\n\n"
         "  snug plot out-a out-b --out=compare.html\n";
}

}  // namespace snug::cli
