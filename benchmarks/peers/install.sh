#!/bin/sh
# The toolkits that `python -m benchmarks.train` and `benchmarks.decode` compare with when given `--peers
# benchmarks/peers`, each in an environment of its own. The scripts in train/ and decode/ are run by these.
#
#     benchmarks/peers/install.sh [NAME ...]      # huggingface joeynmt eole pymarian; all of them unless named
#
# All get the torch that saccade is tested with. It goes in first, and toolkits that ask for an older one follow without
# their dependencies, so that the comparison is of toolkits and not of versions of torch.
set -eu
cd "$(dirname "$0")"
PYTHON=${PYTHON:-python3}
mkdir -p venv
grep '^torch==' ../../constraints.txt > venv/torch.txt

make() { # NAME: a new environment with torch
    echo "== $1" >&2
    "$PYTHON" -m venv --clear "venv/$1"
    install "$1" torch numpy
}

install() { # NAME WHAT...
    environment=$1
    shift
    "venv/$environment/bin/python" -m pip install -qq --disable-pip-version-check -c venv/torch.txt annotated-types "$@"
}

for name in ${*:-huggingface joeynmt eole pymarian}; do
    case $name in
    huggingface)
        make huggingface
        install huggingface transformers==5.17.0
        ;;
    joeynmt)
        make joeynmt
        install joeynmt --no-deps joeynmt==2.3.0
        # Joey NMT calls SetVocabulary, which later versions of SentencePiece no longer have.
        install joeynmt sentencepiece==0.2.0 datasets importlib_metadata matplotlib packaging pandas protobuf pyyaml \
            sacrebleu sacremoses safetensors seaborn six subword-nmt tensorboard
        ;;
    eole)
        make eole
        # Without its fasttext-wheel and torchcodec, which it imports for language filters and speech only.
        install eole --no-deps eole==0.6.4
        install eole aiohttp configargparse 'ctranslate2<5' datasets fastapi huggingface_hub pandas psutil pyahocorasick \
            pydantic 'pyonmttok<2' pyyaml rapidfuzz requests rich sacrebleu safetensors sentencepiece six spacy \
            subword-nmt tensorboard tokenizers torch-optimi uvicorn waitress
        ;;
    pymarian)
        echo "== pymarian" >&2
        "$PYTHON" -m venv --clear venv/pymarian # C++ all through: no torch
        install pymarian pymarian==1.12.42 numpy safetensors sentencepiece
        ;;
    *)
        echo "$name is none of the peers, which are huggingface joeynmt eole pymarian" >&2
        exit 1
        ;;
    esac
done
