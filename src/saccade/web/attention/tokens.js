// Tokens as they are shown: always as text, each for itself, so that none changes the direction of its neighbours.

const UNPRINTABLE = /[\p{Cc}\p{Cs}\ufffe\uffff]/gu;
const RIGHT_TO_LEFT = /^\P{L}*[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;
const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** A token's mark of a word's beginning, shown as a faint dot, and the rest. */
function parts(token) {
  const printable = token.replace(UNPRINTABLE, "\ufffd");
  const marks = printable.match(/^▁*/)[0].length;
  return { mark: "·".repeat(marks), text: printable.slice(marks).replaceAll("▁", "·") };
}

function label(token) {
  const { mark, text } = parts(token);
  return mark + text;
}

/** An element with a class and a text. Nothing in this page is ever made from markup. */
function make(name, className = "", text = "") {
  const element = document.createElement(name);
  if (className) element.className = className;
  if (text) element.textContent = text;
  return element;
}

function tokenElement(token) {
  const element = make("bdi", "piece"), { mark, text } = parts(token);
  element.dir = "auto";
  if (mark) element.append(make("span", "mark", mark));
  element.append(text);
  return element;
}

/** Text on a canvas: as wide as `room` at most, ending or beginning at x. */
class Lettering {
  constructor(context, colours) {
    this.context = context;
    this.colours = colours;
    this.cuts = new Map();
  }

  width(token) {
    return this.context.measureText(label(token)).width;
  }

  cut(text, room) {
    if (this.context.measureText(text).width <= room) return text;
    const key = `${this.context.font} ${Math.round(room)} ${text}`;
    if (!this.cuts.has(key)) {
      const kept = Array.from(graphemes.segment(text), (each) => each.segment);
      while (kept.length && this.context.measureText(`${kept.join("")}…`).width > room) kept.pop();
      this.cuts.set(key, `${kept.join("")}…`);
    }
    return this.cuts.get(key);
  }

  draw(token, x, y, room, align, colour = this.colours.text) {
    const { context } = this, { mark, text } = parts(token);
    const rightToLeft = RIGHT_TO_LEFT.test(text);
    const markWidth = mark ? context.measureText(mark).width : 0;
    const kept = this.cut(text, room - markWidth), width = context.measureText(kept).width + markWidth;
    const left = align === "end" ? x - width : align === "center" ? x - width / 2 : x;
    context.textAlign = "left";
    context.textBaseline = "middle";
    context.direction = rightToLeft ? "rtl" : "ltr";
    context.fillStyle = colour;
    context.fillText(kept, rightToLeft ? left : left + markWidth, y);
    context.fillStyle = this.colours.mark;
    if (mark) context.fillText(mark, rightToLeft ? left + width - markWidth : left, y);
  }
}

/** The text of one side with a piece of it for every token, so that the one pointed at can be marked. */
function textPieces(side) {
  const fragment = document.createDocumentFragment(), pieces = new Map();
  const add = (at, element) => {
    pieces.set(at, element);
    fragment.append(element);
  };
  if (!side.text) addTokens(side.tokens, fragment, add);
  else if (side.spans) addSpans(side, fragment, add);
  else fragment.append(side.text);
  return { fragment, pieces };
}

/** Spans count characters as Python does. A token within what others spell, as a byte of a character, has no piece. */
function addSpans({ text, spans }, fragment, add) {
  const characters = Array.from(text), cut = (start, end) => characters.slice(start, end).join("");
  let reached = 0;
  spans.forEach(([start, end], at) => {
    if (start < reached || end <= start) return;
    fragment.append(cut(reached, start));
    add(at, make("span", "at", cut(start, end)));
    reached = end;
  });
  fragment.append(cut(reached));
}

function addTokens(tokens, fragment, add) {
  const marked = tokens.some((token) => token.startsWith("▁"));
  tokens.forEach((token, at) => {
    if (token === "</s>") return;
    if (at && (!marked || token.startsWith("▁"))) fragment.append(" ");
    const text = token.replace(UNPRINTABLE, "\ufffd").replace(/^▁+/, "").replaceAll("▁", " ");
    add(at, make("bdi", "at", text));
  });
}
