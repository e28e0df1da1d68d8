// Traces as they are embedded: format saccade-attention, version 1, but that each layer's weights stand in an element of
// their own, which `weights` names. So they can be decoded one by one, and used before the page is loaded to its end.

const MAIN_KINDS = ["cross", "image", "memory"];

/** Every float16 there is, by its bits. */
const HALVES = (() => {
  const table = new Float32Array(65536);
  for (let bits = 0; bits < 65536; bits++) {
    const exponent = (bits >> 10) & 31, fraction = bits & 1023;
    const size = exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024);
    table[bits] = bits & 32768 ? -size : size;
  }
  return table;
})();

function decodeHalves(packed) {
  const bytes = Uint8Array.fromBase64?.(packed) ?? Uint8Array.from(atob(packed), (each) => each.charCodeAt(0));
  const values = new Float32Array(bytes.length / 2);
  for (let at = 0; at < values.length; at++) values[at] = HALVES[bytes[2 * at] | (bytes[2 * at + 1] << 8)];
  return values;
}

/** By the name of their element; hypotheses share what is the same. */
const decodedWeights = new Map();

class Layer {
  constructor(table) {
    this.kind = table.kind;
    this.name = table.name;
    [this.heads, this.rows, this.columns] = table.shape;
    this.place = table.weights;
  }

  /** Whether its weights have been loaded. */
  get isHere() {
    return decodedWeights.has(this.place) || document.getElementById(this.place) !== null;
  }

  /** Heads × rows (who looks) × columns (what is looked at), one after the other. */
  get weights() {
    if (!decodedWeights.has(this.place)) {
      const element = document.getElementById(this.place);
      decodedWeights.set(this.place, decodeHalves(element.textContent));
      element.remove(); // the memory it takes is free again
    }
    return decodedWeights.get(this.place);
  }

  head(number) {
    const size = this.rows * this.columns;
    return this.weights.subarray(number * size, (number + 1) * size);
  }
}

/** Weights of who looks (rows) at what (columns). */
class Matrix {
  constructor(rows, columns, values) {
    this.rows = rows;
    this.columns = columns;
    this.values = values;
    this.largest = 0;
    for (const value of values) if (value > this.largest) this.largest = value;
  }

  at(row, column) {
    return this.values[row * this.columns + column];
  }

  row(row) {
    return this.values.subarray(row * this.columns, (row + 1) * this.columns);
  }

  column(column) {
    return Float32Array.from({ length: this.rows }, (_, row) => this.at(row, column));
  }
}

class Trace {
  constructor(table) {
    this.model = table.model;
    this.score = table.score;
    this.logProbs = table.token_log_probs;
    this.image = table.image;
    this.source = table.source;
    this.target = table.target;
    this.layers = table.layers.map((layer) => new Layer(layer));
    this.kinds = [...new Set(this.layers.map((layer) => layer.kind))];
    this.main = MAIN_KINDS.find((kind) => this.kinds.includes(kind)) ?? this.kinds[0];
  }

  of(kind) {
    return this.layers.filter((layer) => layer.kind === kind);
  }

  numHeads(kind, layer) {
    const layers = this.of(kind);
    return layer === null ? Math.min(...layers.map((each) => each.heads)) : layers[layer].heads;
  }

  /** The tokens that look. */
  lookers(kind) {
    return kind === "encoder" ? this.source.tokens : this.target.tokens;
  }

  /** What is looked at; where that has no tokens, its cells are numbered. */
  lookedAt(kind) {
    if (kind === "cross" || kind === "encoder") return this.source.tokens;
    if (kind === "decoder") return ["<s>", ...this.target.tokens.slice(0, -1)];  // what was read to write each token
    const count = this.of(kind)[0].columns;
    const across = kind === "image" && this.image ? this.image.columns : null;
    return Array.from({ length: count }, (_, at) =>
      across ? `${Math.floor(at / across) + 1}:${(at % across) + 1}` : String(at + 1));
  }

  /** The mean over some heads of one layer, or of every layer (null); every layer weighs the same. */
  matrix(kind, layer, heads) {
    const layers = layer === null ? this.of(kind) : [this.of(kind)[layer]];
    const everyHead = heads.length === this.numHeads(kind, layer);
    const { rows, columns } = layers[0], sum = new Float32Array(rows * columns);
    for (const each of layers) {
      const chosen = everyHead ? Array.from({ length: each.heads }, (_, head) => head) : heads;
      const share = 1 / (chosen.length * layers.length);
      for (const head of chosen) {
        const weights = each.head(head);
        for (let at = 0; at < sum.length; at++) sum[at] += share * weights[at];
      }
    }
    return new Matrix(rows, columns, sum);
  }
}

/** Places of the largest values, first to last, without those that are nothing. */
function strongest(values, count) {
  return Array.from(values.keys()).filter((at) => values[at] > 0).sort((a, b) => values[b] - values[a]).slice(0, count);
}
