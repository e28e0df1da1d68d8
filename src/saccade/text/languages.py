"""Language codes: the language that a code such as "zh-CN" or "pt_BR" means, and whether there is one of that name."""

import re
from difflib import get_close_matches

from saccade.errors import SettingsError

# ISO 639-1, with English names for suggestions.
_TWO_LETTERS = """
aa afar, ab abkhazian, ae avestan, af afrikaans, ak akan, am amharic, an aragonese, ar arabic, as assamese, av avaric,
ay aymara, az azerbaijani, ba bashkir, be belarusian, bg bulgarian, bi bislama, bm bambara, bn bengali, bo tibetan,
br breton, bs bosnian, ca catalan, ce chechen, ch chamorro, co corsican, cr cree, cs czech, cu church slavonic,
cv chuvash, cy welsh, da danish, de german, dv divehi, dz dzongkha, ee ewe, el greek, en english, eo esperanto,
es spanish, et estonian, eu basque, fa persian, ff fulah, fi finnish, fj fijian, fo faroese, fr french, fy frisian,
ga irish, gd gaelic, gl galician, gn guarani, gu gujarati, gv manx, ha hausa, he hebrew, hi hindi, ho hiri motu,
hr croatian, ht haitian, hu hungarian, hy armenian, hz herero, ia interlingua, id indonesian, ie interlingue, ig igbo,
ii sichuan yi, ik inupiaq, io ido, is icelandic, it italian, iu inuktitut, ja japanese, jv javanese, ka georgian,
kg kongo, ki kikuyu, kj kuanyama, kk kazakh, kl kalaallisut, km khmer, kn kannada, ko korean, kr kanuri, ks kashmiri,
ku kurdish, kv komi, kw cornish, ky kyrgyz, la latin, lb luxembourgish, lg ganda, li limburgish, ln lingala, lo lao,
lt lithuanian, lu luba-katanga, lv latvian, mg malagasy, mh marshallese, mi maori, mk macedonian, ml malayalam,
mn mongolian, mr marathi, ms malay, mt maltese, my burmese, na nauru, nb bokmål, nd north ndebele, ne nepali,
ng ndonga, nl dutch, nn nynorsk, no norwegian, nr south ndebele, nv navajo, ny chichewa, oc occitan, oj ojibwa,
om oromo, or oriya, os ossetian, pa punjabi, pi pali, pl polish, ps pashto, pt portuguese, qu quechua, rm romansh,
rn rundi, ro romanian, ru russian, rw kinyarwanda, sa sanskrit, sc sardinian, sd sindhi, se northern sami, sg sango,
sh serbo-croatian, si sinhala, sk slovak, sl slovenian, sm samoan, sn shona, so somali, sq albanian, sr serbian,
ss swati, st sotho, su sundanese, sv swedish, sw swahili, ta tamil, te telugu, tg tajik, th thai, ti tigrinya,
tk turkmen, tl tagalog, tn tswana, to tonga, tr turkish, ts tsonga, tt tatar, tw twi, ty tahitian, ug uighur,
uk ukrainian, ur urdu, uz uzbek, ve venda, vi vietnamese, vo volapük, wa walloon, wo wolof, xh xhosa, yi yiddish,
yo yoruba, za zhuang, zh chinese, zu zulu
"""
# ISO 639-3: languages above in three letters, others with common corpora, and codes for several languages or none.
_THREE_LETTERS = """
afr aka amh ara arb arg asm ast awa azb aze azj bak bam ban bcl bel ben bho bih bjn bod bos bre bul cat ceb ces che
chr chv ckb cmn cor cos crh csb cym dan deu diq div dsb dzo ell eng epo est eus ewe ext fao fas fij fil fin fon fra
frp frr fry ful fur gag gla gle glg glv gom grc grn gsw guj hak hat hau haw hbs heb hif hil hin hmn hne hrv hsb hun
hye iba ibo ido ile ilo ina ind isl ita jav jpn kab kal kam kan kas kat kaz kbd kea khk khm kin kir kmr kor krc ksh
kur lad lao lat lav lez lij lim lin lit lld lmo ltg ltz lug lus lvs lzh mag mai mal mar min mkd mlg mlt mni mon mos
mri msa mul mwl mya myv nan nap nav nds nep new nld nno nob nor npi nrm nso nya oci ori orm ory oss pag pam pan pap
pbt pcd pcm pes plt pms pnb pol por prs pus quc que quy roh rom ron rue run rus sag sah san sat scn sco shn sin slk
slv sma sme smj smn smo sms sna snd som sot spa sqi srd srn srp ssw stq sun swa swe swh szl tah tam tat tel tet tgk
tgl tha tir tok ton tpi tsn tso tuk tum tur tvl twi tzm udm uig ukr umb und urd uzb uzn vec vep vie vls vol vro war
wln wol wuu xho xmf ydd yid yor yue zea zgh zha zho zlm zsm zul zxx
"""
_CODES = {name: code for code, name in re.findall(r"(\w\w) ([^,\n]+)", _TWO_LETTERS)}
_KNOWN = frozenset([*_CODES.values(), *_THREE_LETTERS.split()])
_COUNTRIES = {"cn": "zh", "jp": "ja", "kr": "ko", "cz": "cs", "gr": "el", "ua": "uk", "dk": "da", "us": "en"}
_FORM = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*")
_LOCAL_USE = re.compile("q[a-t][a-z]")


def language_of(code: str) -> str:
    """The language itself, without script or region: `zh` of `zh-CN`, `zh_Hans` and `ZH`."""
    return re.split("[-_]", code.lower())[0]


def is_known(code: str) -> bool:
    """Whether this is a code of ISO 639, perhaps with a script or region; qaa to qtz are for local use."""
    language = language_of(code)
    return bool(_FORM.fullmatch(code) and (language in _KNOWN or _LOCAL_USE.fullmatch(language)))


def check_language(code: str, *, origin: str = "Language") -> str:
    """The code, if it is known; else a SettingsError that names `origin`, such as an option, and suggests a code."""
    if is_known(code):
        return code
    word = code.strip().lower()
    similar = get_close_matches(word, _CODES, n=1, cutoff=0.75)
    suggestion = _COUNTRIES.get(language_of(word)) or (_CODES[similar[0]] if similar else None)
    remedy = f"Did you mean `{suggestion}`?" if suggestion else "Use a code of ISO 639, such as en, de, zh or pt-BR."
    raise SettingsError(origin, [f"`{code}` is not a language code. {remedy}"])
