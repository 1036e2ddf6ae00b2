#!/bin/sh
# Copy the sample book into a folder of its own. An existing folder is removed only if a
# mark in it says that this script has made it.
#
#     sh docs/copy_book.sh FOLDER           make a new copy
#     sh docs/copy_book.sh --remove FOLDER  remove the copy
set -eu

remove=
if [ "$1" = --remove ]; then remove=yes; shift; fi
folder=${1:?usage: copy_book.sh [--remove] FOLDER}
book=$(cd "$(dirname "$0")/.." && pwd)/sample-book
mark=.copy-of-sample-book

if [ -L "$folder" ]; then
    echo "$folder is a link: name a folder" >&2
    exit 1
fi
if [ -e "$folder" ]; then
    if [ ! -f "$folder/$mark" ] || [ -L "$folder/$mark" ]; then
        if [ -n "$remove" ]; then exit 0; fi
        echo "$folder is there, and is no copy of the sample book that was made here: name another folder" >&2
        exit 1
    fi
    case $(pwd -P)/ in
        "$(cd "$folder" && pwd -P)"/*)
            echo "$folder is where you are, or holds it: go elsewhere first" >&2
            exit 1
            ;;
    esac
    if [ -e "$folder/.git" ]; then
        echo "$folder has become a repository of its own: name another folder" >&2
        exit 1
    fi
    rm -rf -- "$folder"
fi
if [ -z "$remove" ]; then
    mkdir -- "$folder"
    : > "$folder/$mark"
    cp -R "$book/." "$folder"
fi
