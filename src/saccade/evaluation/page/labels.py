"""What the page says, in English and Chinese; `{…}` is filled in."""

from saccade.evaluation.page.markup import Markup, join, tag, text

LABELS = {
    "sentences": ("{count} sentences", "{count} 句"),
    "one reference": ("one reference", "一份参考译文"),
    "references": ("{count} references", "{count} 份参考译文"),
    "language": ("target language {language}", "目标语言 {language}"),
    "contents": ("Contents", "目录"),
    # scores
    "scores": ("Scores", "分数"),
    "scores why": (
        "BLEU counts the words and word sequences shared with the reference, chrF2 the characters; higher is better. TER "
        "is the share of words to edit to get to the reference; lower is better.",
        "BLEU 数译文与参考译文共有的词和词串，chrF2 数共有的字符串，都是越高越好。TER 是把译文改成参考译文要编辑的词所占的比例，越低越好。",
    ),
    "interval why": (
        "± is half of the 95% interval: of {samples} test sets drawn from these sentences, 95 in 100 score within the line. "
        "p says how likely chance alone makes a difference this large to {first}; below 0.05 is commonly called significant.",
        "± 是 95% 区间宽度的一半：从这些句子中重抽 {samples} 个测试集，每 100 个有 95 个的分数落在横线以内。"
        "p 表示仅凭偶然就与 {first} 相差这么多的可能性；通常 p 小于 0.05 称为显著。",
    ),
    "interval why alone": (
        "± is half of the 95% interval: of {samples} test sets drawn from these sentences, 95 in 100 score within the line.",
        "± 是 95% 区间宽度的一半：从这些句子中重抽 {samples} 个测试集，每 100 个有 95 个的分数落在横线以内。",
    ),
    "system": ("System", "系统"),
    "perplexity": ("Perplexity", "困惑度"),
    "perplexity why": (
        "How surprised the model is by the reference, per token; lower is better, and comparable only between models "
        "with the same tokenizer.",
        "模型对参考译文有多意外（按词元计），越低越好；只有分词器相同的模型之间才能比较。",
    ),
    "verdict sure": (
        "{name} is {size} BLEU {way} {first}, and that is hardly chance (p = {p}).",
        "{name} 比 {first} {way} {size} BLEU，几乎不可能是偶然（p = {p}）。",
    ),
    "verdict unsure": (
        "{name} is {size} BLEU {way} {first}, but that may well be chance (p = {p}).",
        "{name} 比 {first} {way} {size} BLEU，但很可能只是偶然（p = {p}）。",
    ),
    "better": ("above", "高"),
    "worse": ("below", "低"),
    # oddities
    "oddities": ("What is odd", "异常之处"),
    "oddities why": (
        "Signs of trouble that a score hides, counted over all translations.",
        "分数看不出来的毛病，在全部译文中计数。",
    ),
    "length_ratio": ("Length", "长度比"),
    "length_ratio why": (
        "Words of all translations by words of the reference: 1 is as long, less is shorter.",
        "全部译文的词数除以参考译文的词数：1 为一样长，小于 1 为偏短。",
    ),
    "empty": ("Empty", "空译文"),
    "empty why": ("Nothing was written.", "什么也没有写出来。"),
    "copied": ("Copied", "照抄原文"),
    "copied why": (
        "The source was left as it is, where the reference differs from it.",
        "原文原样留下，而参考译文与原文不同。",
    ),
    "repeating": ("Repeating", "重复"),
    "repeating why": (
        "A pair of words (four characters in Chinese and Japanese) said again, more often than the reference says it.",
        "相邻两个词（中文、日文为四个字）重复出现，比参考译文里的次数还多。",
    ),
    "short": ("Short", "过短"),
    "short why": ("Less than half as long as the reference.", "不到参考译文一半长。"),
    "long": ("Long", "过长"),
    "long why": ("More than twice as long as the reference.", "比参考译文长一倍以上。"),
    "entropy": ("Attention entropy", "注意力熵"),
    "entropy why": (
        "How spread the attention is, in nats, over all layers and heads: 0 looks at one source token, ln n at n alike.",
        "注意力分散的程度（单位奈特，取各层各头的平均）：0 为只看一个源词元，ln n 为同等地看 n 个。",
    ),
    "uncovered": ("Passed over", "漏看"),
    "uncovered why": (
        "Share of source tokens that get less than 0.2 of attention in sum: perhaps left out of the translation.",
        "得到的注意力总和不到 0.2 的源词元所占的比例：可能漏译了。",
    ),
    # buckets
    "buckets": ("Where it is good, and where not", "强在哪里，弱在哪里"),
    "buckets why": (
        "The same scores on part of the sentences. A bar is the score, its thin line the 95% interval; where the lines of "
        "two systems overlap widely, do not read much into the difference. Point at a bar for its figures.",
        "把句子分组后分别计分。长条是分数，细线是 95% 区间；两个系统的细线大幅重叠时，不必太看重它们的差别。把指针移到长条上可以看到数字。",
    ),
    "by length": ("By length", "按长度"),
    "by length source": ("Words in the source.", "原文的词数。"),
    "by length reference": ("Words in the reference.", "参考译文的词数。"),
    "by frequency": ("By the rarest word", "按最生僻的词"),
    "by frequency training": (
        "How often the rarest word of the reference stands in the training text; 0 was never seen.",
        "参考译文中最生僻的词在训练文本里出现的次数；0 表示从未见过。",
    ),
    "by frequency reference": (
        "How often the rarest word of the reference stands in all references; give --training-text for that of training.",
        "参考译文中最生僻的词在全部参考译文里出现的次数；用 --training-text 可改为训练文本里的次数。",
    ),
    "by kind": ("By kind of sentence", "按句子类型"),
    "by kind source": (
        "How the source ends, and whether it has a number or a capital inside (a name, in many languages). A sentence "
        "may be in several.",
        "看原文怎样结尾，是否有数字，句中是否有大写字母（在许多语言里是专名）。一句可以属于几类。",
    ),
    "by kind reference": (
        "How the reference ends, and whether it has a number or a capital inside (a name, in many languages). A "
        "sentence may be in several.",
        "看参考译文怎样结尾，是否有数字，句中是否有大写字母（在许多语言里是专名）。一句可以属于几类。",
    ),
    "statement": ("statement", "陈述句"),
    "question": ("question", "疑问句"),
    "exclamation": ("exclamation", "感叹句"),
    "fragment": ("no end mark", "无句末标点"),
    "number": ("number", "有数字"),
    "name": ("capital inside", "句中大写"),
    "bucket": ("Bucket", "分组"),
    "figures": ("The figures", "数字"),
    "number of sentences": ("Sentences", "句数"),
    # plots over sentences
    "spread": ("Sentence by sentence", "逐句来看"),
    "spread why": (
        "Every dot is a translation: its length in words to the right, its own chrF2 upwards.",
        "每个点是一句译文：横轴为词数，纵轴为该句的 chrF2。",
    ),
    "sampled": ("Every {step}th sentence is drawn.", "每 {step} 句画一点。"),
    "words": ("words", "词数"),
    "histogram why": (
        "How many translations score how much in chrF2.",
        "各段 chrF2 分数有多少句译文。",
    ),
    "differences why": (
        "By how much chrF2 the translations of {name} differ from those of {first}, and how many do. Right of 0, {name} "
        "is better: in {better} sentences; worse in {worse}, alike in {alike}.",
        "{name} 的译文与 {first} 的 chrF2 相差多少，各有多少句。0 的右边 {name} 更好：{better} 句；更差 {worse} 句，相同 {alike} 句。",
    ),
    # sentences
    "worst": ("The worst", "最差的句子"),
    "worst why": ("By chrF2, the mean of all systems.", "按各系统 chrF2 的平均。"),
    "best": ("The best", "最好的句子"),
    "best why": ("By chrF2, the mean of all systems.", "按各系统 chrF2 的平均。"),
    "gains": ("Where {name} is better than {first}", "{name} 胜过 {first} 之处"),
    "losses": ("Where {name} is worse than {first}", "{name} 不如 {first} 之处"),
    "differences": (
        "The largest differences in chrF2.",
        "chrF2 相差最大的句子。",
    ),
    "none": ("There are none.", "没有。"),
    "all": ("All sentences", "全部句子"),
    "all why": (
        "Words that differ from the reference are {marked}; words of the reference that no system has are {missed}.",
        "与参考译文不同的词{marked}；参考译文中哪个系统都没有的词{missed}。",
    ),
    "marked": ("marked", "加底色"),
    "missed": ("underlined", "加下划线"),
    "too many": (
        "Of {count} sentences, the first {shown} are listed here; --json has them all.",
        "共 {count} 句，这里列出前 {shown} 句；--json 给出全部。",
    ),
    "sort": ("Sort by", "排序"),
    "line": ("line", "行号"),
    "difference": ("difference", "差距"),
    "show": ("Show", "显示"),
    "any": ("all", "全部"),
    "odd": ("odd ones", "异常的"),
    "search": ("Find", "查找"),
    "source": ("source", "原文"),
    "reference": ("reference", "参考"),
    "is empty": ("empty", "空"),
    "is copied": ("copied", "照抄"),
    "repeats": ("repeats {count}", "重复 {count}"),
    "ratio": ("length {ratio}", "长度比 {ratio}"),
    "gaze": ("entropy {entropy}, passed over {uncovered}", "熵 {entropy}，漏看 {uncovered}"),
    # how
    "how": ("How this was computed", "计算方法"),
    "how why": (
        "By sacreBLEU; whoever repeats it with these signatures gets the same figures.",
        "由 sacreBLEU 计算；用这些签名可以得到同样的数字。",
    ),
    "made by": ("Made by saccade {version}", "由 saccade {version} 生成"),
}


def both(key: str, element: str = "span", **values: object) -> Markup:
    """A label in both languages, of which the page shows one; `element` is tspan inside a picture."""
    return join(
        *(
            tag(element, _filled(words, values), class_=name, lang=language)
            for name, language, words in zip(("en", "zh"), ("en", "zh-CN"), LABELS[key], strict=True)
        )
    )


def each(key: str, **values: tuple[object, object]) -> Markup:
    """As `both`, where what is filled in has two languages as well."""
    english, chinese = ({name: pair[at] for name, pair in values.items()} for at in (0, 1))
    return join(
        tag("span", _filled(LABELS[key][0], english), class_="en", lang="en"),
        tag("span", _filled(LABELS[key][1], chinese), class_="zh", lang="zh-CN"),
    )


def _filled(words: str, values: dict[str, object]) -> Markup:
    return Markup(text(words).format(**{name: text(value) for name, value in values.items()}))
