"""Match question words in scripts without blanks; other languages use lists of frequent words."""

from __future__ import annotations

import re

_SIGN = "[\\u4e00-\\u9fff\\u3005\\u30a1-\\u30fcA-Za-z0-9]"  # Han, katakana, letters
_CHINESE = (
    "请问|什么是|是什么|什么叫|指什么|指的是|为什么|什么|为何|如何|怎么样|怎么|怎样|哪些|哪个|哪种|哪里|多少|是否|能否|有何|何时|何为"
    "|之间|区别|差别|定义|意思|解释|说明|一下|可以|应该|以及|吗|呢|吧|了|是|的(?!确)|与|或|(?<![总求饱共])和(?![谐平])"
)
_JAPANESE = (
    "とは|(?:何|なん)(?:ですか|でしょうか|か)?|なぜ|どうして|どのように|どのような|どういう|どうすれば|どう|どんな|どれ(?:くらい|ぐらい)?|どこ|いつ"
    "|いくつ|よいですか|いいですか|ですか|ますか|ましたか|でしょうか|のか|について|における|において|によって|により|に対して|ため[のに]"
    "|という|しますか|します|される|された|している|する|した|して|です|ます|である|には|では|教えてください|教えて|ください|違い|意味|定義"
    f"|(?<={_SIGN})[はがをにでともへやの](?={_SIGN}|[、。？?\\s]|$)"
)
_KOREAN = (
    "무엇(?:입니까|인가요|인가|이란|이며|을|이)?|왜(?![가-힣])|어떻게|어떤|언제|어디|얼마나?|인가요|입니까|합니까|하나요|됩니까"
    "|(?<=[가-힣][가-힣])(?:이란|에서|으로|은|는|이|가|을|를|의|에|로|와|과|도|란)(?![가-힣])"
)
_THAI = "คืออะไร|อะไร|อย่างไร|ทำไม|เมื่อไร|เมื่อใด|ที่ไหน|เท่าไร|หรือไม่|คือ|ใคร|ไหม"
# In the regex syntax that Python and JavaScript share, for the ask box. (Slow to compile, and not needed for ASCII.)
ASKING = f"{_CHINESE}|{_JAPANESE}|{_KOREAN}|{_THAI}"


def without_asking(question: str) -> str:
    """Remove question words in scripts without blanks."""
    return question if question.isascii() else re.sub(ASKING, " ", question)
