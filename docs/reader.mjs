// Read a model of mr_elm without mr_elm, and predict with it. Nothing but Node.js is needed:
//
//     node docs/reader.mjs MODEL.npz ROWS [--probabilities]
//
// ROWS is a pack, or a text file of the format of the training: csv without quoted fields, or LIBSVM text. A line of
// the output is that of `mr-elm predict --scores` (or --probabilities): the label, then the numbers.
import fs from 'node:fs'
import { fileURLToPath } from 'node:url'
import zlib from 'node:zlib'

// ---- The file: npz is a zip archive of arrays, each stored or deflated.

function readZip(bytes) {
  const files = {}
  const end = bytes.lastIndexOf(Buffer.from([0x50, 0x4b, 5, 6])) // the end of the central directory
  let at = bytes.readUInt32LE(end + 16)
  for (let n = bytes.readUInt16LE(end + 10); n > 0; n--) {
    const [nameSize, extraSize, commentSize] = [28, 30, 32].map((k) => bytes.readUInt16LE(at + k))
    const size = bytes.readUInt32LE(at + 20)
    const name = bytes.toString('utf8', at + 46, at + 46 + nameSize)
    const local = bytes.readUInt32LE(at + 42)
    const start = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28)
    const body = bytes.subarray(start, start + size)
    files[name.replace(/\.npy$/, '')] = bytes.readUInt16LE(at + 10) === 8 ? zlib.inflateRawSync(body) : body
    at += 46 + nameSize + extraSize + commentSize
  }
  return files
}

// Return an array of numpy: a number or a text where it has no axes, a list, or a list of rows.
function readArray(bytes) {
  const start = bytes[6] === 1 ? 10 + bytes.readUInt16LE(8) : 12 + bytes.readUInt32LE(8)
  const text = bytes.toString('latin1', 10, start)
  const type = /'descr': '(.*?)'/.exec(text)[1]
  const shape = /'shape': \((.*?)\)/.exec(text)[1].split(',').filter((s) => s.trim()).map(Number)
  if (type.startsWith('<U')) {
    const codes = Array.from({ length: Number(type.slice(2)) }, (_, k) => bytes.readUInt32LE(start + 4 * k))
    return codes.map((code) => String.fromCodePoint(code)).join('')
  }
  const read = type === '<f8' ? (k) => bytes.readDoubleLE(start + 8 * k) : (k) => bytes.readInt32LE(start + 4 * k)
  if (shape.length === 0) return read(0)
  if (shape.length === 1) return Array.from({ length: shape[0] }, (_, k) => read(k))
  const place = text.includes("'fortran_order': True") ? (i, j) => j * shape[0] + i : (i, j) => i * shape[1] + j
  return Array.from({ length: shape[0] }, (_, i) => Array.from({ length: shape[1] }, (_, j) => read(place(i, j))))
}

// ---- The machines: decision values of a row x.

const sum = (values) => values.reduce((a, b) => a + b, 0)
const dot = (u, v) => sum(u.map((value, j) => value * v[j]))
const spread = (values, d) => (Array.isArray(values) ? values : new Array(d).fill(values))
const squareDistance = (u, v) => sum(u.map((value, j) => (value - v[j]) ** 2))
const distance = (u, v) => sum(u.map((value, j) => Math.abs(value - v[j])))

function placeRow(x, arrays) {
  const [offset, scale] = [spread(arrays.feature_offset, x.length), spread(arrays.feature_scale, x.length)]
  const z = x.map((value, j) => (value - offset[j]) * scale[j])
  const metric = arrays.feature_metric
  if (metric === undefined) return z
  return Array.isArray(metric[0]) ? metric.map((row) => dot(row, z)) : z.map((value, j) => value * metric[j])
}

// Return support vectors or landmarks as dense rows of a width.
function vectorsOf(arrays, name, width) {
  if (arrays[name]) return arrays[name]
  const [data, indices, ends] = ['data', 'indices', 'indptr'].map((part) => arrays[`${name}_${part}`])
  return ends.slice(1).map((end, i) => {
    const row = new Array(width).fill(0)
    for (let k = ends[i]; k < end; k++) row[indices[k]] = data[k]
    return row
  })
}

const projections = {
  sigmoid: (p) => 1 / (1 + Math.exp(-p)),
  tanh: Math.tanh,
  sine: Math.sin,
  rff: Math.cos,
  relu: (p) => Math.max(p, 0),
  hardlimit: (p) => (p >= 0 ? 1 : 0),
  identity: (p) => p,
}

function nodesOf(z, parameters, arrays) {
  const kind = parameters.map.replace(/^leaves\+?/, '')
  if (kind === '') return []
  if (kind === 'nystrom') {
    const { sigma, kernel = 'gaussian' } = parameters
    const value = {
      gaussian: (a) => Math.exp(-squareDistance(z, a) / (2 * sigma ** 2)),
      laplacian: (a) => Math.exp(-Math.sqrt(squareDistance(z, a)) / sigma),
      'product-laplacian': (a) => Math.exp(-distance(z, a) / sigma),
    }[kernel]
    return vectorsOf(arrays, 'landmarks', z.length).map(value)
  }
  return arrays.hidden_weights.map((w, j) => {
    const b = arrays.hidden_biases[j]
    if (kind === 'rbf') return Math.exp(-squareDistance(z, w) / b)
    if (kind === 'multiquadric') return Math.sqrt(squareDistance(z, w) + b * b)
    return projections[kind](dot(w, z) + b)
  })
}

// Return the number of the leaf of each tree where a row ends; trees see the row as it is, not scaled.
function leavesOf(x, { tree_features, tree_thresholds, tree_children, tree_roots }) {
  return (tree_roots ?? []).map((node) => {
    while (tree_features[node] >= 0) {
      node = tree_children[node] + (x[tree_features[node]] <= tree_thresholds[node] ? 0 : 1)
    }
    return tree_children[node]
  })
}

function kernelOf({ kernel, sigma, gamma, degree, normalised }) {
  if (kernel === 'gaussian') return (u, v) => Math.exp(-(gamma ?? 1 / (2 * sigma ** 2)) * squareDistance(u, v))
  if (kernel === 'laplacian') return (u, v) => Math.exp(-Math.sqrt(squareDistance(u, v)) / sigma)
  const plain = kernel === 'linear' ? dot : (u, v) => (1 + dot(u, v)) ** degree
  if (!normalised) return plain
  return (u, v) => plain(u, v) / Math.sqrt(plain(u, u) * plain(v, v)) || 0
}

function decide(x, parameters, arrays) {
  const z = placeRow(x, arrays)
  if (!parameters.map) {
    const kernel = kernelOf(parameters)
    const values = vectorsOf(arrays, 'support_vectors', z.length).map((v) => kernel(z, v))
    return arrays.intercept.map((r, k) => dot(values, arrays.dual_coef.map((row) => row[k])) + r)
  }
  const [nodes, B] = [nodesOf(z, parameters, arrays), arrays.output_weights]
  const [first, leaves] = [B.length - 1 - nodes.length, leavesOf(x, arrays)] // the nodes stand behind the leaves
  return B.at(-1).map((r, k) => sum(nodes.map((h, j) => h * B[first + j][k])) + sum(leaves.map((j) => B[j][k])) - r)
}

// ---- Labels and probabilities.

function countVotes(values, n) {
  const [votes, sums] = [new Array(n).fill(0), new Array(n).fill(0)]
  let pair = 0
  for (let i = 0; i < n; i++) {
    for (let j = i + 1; j < n; j++) {
      votes[values[pair] > 0 ? j : i]++
      sums[j] += values[pair]
      sums[i] -= values[pair++]
    }
  }
  return votes.map((count, k) => count + sums[k] / (3 * (Math.abs(sums[k]) + 1))) // the sum decides between equal votes
}

function readModel(path) {
  const files = readZip(fs.readFileSync(path))
  const all = Object.fromEntries(Object.entries(files).map(([name, bytes]) => [name, readArray(bytes)]))
  const header = JSON.parse(all.header)
  const known = ['encoding', 'members', 'calibration', 'threshold', 'targets', 'metric', 'leaves']
  const unknown = header.requires.filter((name) => !known.includes(name))
  if (header.version !== 1 || unknown.length) throw Error(`${path}: cannot read version ${header.version} ${unknown}`)
  const machines = (header.members ?? [{}]).map((own, k) => {
    const prefix = header.members ? `${k}/` : ''
    const named = Object.entries(all).filter(([name]) => name.startsWith(prefix))
    const arrays = Object.fromEntries(named.map(([name, array]) => [name.slice(prefix.length), array]))
    return [{ ...header.parameters, ...own }, arrays]
  })
  const { classes, parameters } = header
  const byPairs = parameters.multiclass === 'one-vs-one' && classes.length > 2
  const scores = (x) => {
    const values = machines.map(([parameters, arrays]) => decide(x, parameters, arrays))
    return values[0].map((_, k) => sum(values.map((each) => each[k])) / values.length)
  }
  const ofClasses = (values) => {
    if (classes.length === 2) return [0, values[0]]
    return byPairs ? countVotes(values, classes.length) : values
  }
  const probabilities = (values) => {
    const [t, ...biases] = all.calibration
    const logits = ofClasses(values).map((f, k) => Math.exp(t) * f + (k ? biases[k - 1] : 0))
    const weights = logits.map((value) => Math.exp(value - Math.max(...logits)))
    return weights.map((value) => value / sum(weights))
  }
  const label = (values) => {
    if (header.task === 'regression') return null
    if (header.targets) return classes.filter((_, k) => values[k] > 0.5).join(header.targets.separator)
    const best = all.calibration ? probabilities(values) : ofClasses(values)
    if (header.threshold === undefined || header.threshold === null) return classes[best.indexOf(Math.max(...best))]
    const positive = classes.indexOf(header.positive)
    return classes[best[positive] > header.threshold ? positive : 1 - positive]
  }
  return { header, scores, probabilities, label }
}

// ---- Rows of text.

function encodeRow(cells, { columns }) {
  return columns.flatMap(({ kind, mean, missing, categories }, i) => {
    const text = cells[i].trim()
    const isMissing = ['', 'NA', 'NaN', 'nan', 'null'].includes(text)
    if (kind === 'number') return [isMissing ? mean : Number(text), ...(missing ? [isMissing ? 1 : 0] : [])]
    const found = categories.indexOf(isMissing ? '' : text)
    return [...categories, 'other'].map((_, k) => (k === (found < 0 ? categories.length : found) ? 1 : 0))
  })
}

function readText(path, { n_features, parameters, encoding }) {
  const { kind, delimiter = ',', header, label_column = 0, targets, positions } = parameters.input
  const lines = fs.readFileSync(path, 'utf8').split(/\r?\n/).filter((line) => line !== '')
  if (kind === 'libsvm') {
    return lines.map((line) => {
      const row = new Array(n_features).fill(0)
      for (const pair of line.split(' ').slice(1)) row[pair.split(':')[0] - 1] = Number(pair.split(':')[1])
      return row
    })
  }
  return lines.slice(header === false ? 0 : 1).map((line) => {
    const cells = line.split(delimiter)
    const isFeature = (k) => (positions ? positions.includes(k) : !(targets ?? [label_column]).includes(k))
    const features = cells.filter((_, k) => isFeature(k))
    return encoding ? encodeRow(features, encoding) : features.map(Number)
  })
}

// ---- Packs: files of Parquet without compression, whose columns are plain numbers or numbers of a dictionary.

// Return a reader of the compact protocol of Thrift: a struct becomes an object whose keys are numbers of fields.
function thrift(bytes, at) {
  const byte = () => bytes[at++]
  const varint = () => {
    let [value, factor, next] = [0, 1, 0]
    do {
      next = byte()
      value += (next & 127) * factor
      factor *= 128
    } while (next & 128)
    return value
  }
  const integer = () => ((n) => (n % 2 ? -(n + 1) / 2 : n / 2))(varint())
  const value = (type) => {
    if (type <= 2) return type === 1
    if (type === 3) return byte()
    if (type <= 6) return integer()
    if (type === 8) return ((n) => bytes.subarray(at, (at += n)))(varint())
    if (type === 9) {
      const head = byte()
      const n = head >> 4 === 15 ? varint() : head >> 4
      return Array.from({ length: n }, () => value(head & 15))
    }
    return struct()
  }
  const struct = () => {
    const fields = {}
    for (let [head, id] = [byte(), 0]; head !== 0; head = byte()) {
      id = head >> 4 ? id + (head >> 4) : integer()
      fields[id] = value(head & 15)
    }
    return fields
  }
  return { struct, position: () => at }
}

// Read n small numbers: runs of one number, or groups of eight that share their bits.
function readRuns(bytes, at, width, n) {
  const values = []
  while (values.length < n) {
    let [head, shift, next] = [0, 0, 0]
    do {
      next = bytes[at++]
      head |= (next & 127) << shift
      shift += 7
    } while (next & 128)
    const bits = (from, k) => Number((from >> BigInt(k * width)) & ((1n << BigInt(width)) - 1n))
    const size = head & 1 ? width * (head >> 1) : Math.ceil(width / 8)
    const number = bytes.subarray(at, (at += size)).reduceRight((high, low) => (high << 8n) | BigInt(low), 0n)
    const length = head & 1 ? 8 * (head >> 1) : head >> 1
    for (let k = 0; k < length && values.length < n; k++) values.push(bits(number, head & 1 ? k : 0))
  }
  return values
}

const readers = {
  1: (bytes, at, k) => bytes.readInt32LE(at + 4 * k),
  4: (bytes, at, k) => bytes.readFloatLE(at + 4 * k),
  5: (bytes, at, k) => bytes.readDoubleLE(at + 8 * k),
}

// Return the lists of numbers of a column, one for each row. depth : the level of definition of a number.
function readLists(bytes, chunk, depth) {
  const [lists, dictionary] = [[], []]
  const read = readers[chunk[1]]
  let [at, n] = [chunk[11] ?? chunk[9], 0]
  while (n < chunk[5]) {
    const pages = thrift(bytes, at)
    const { 1: kind, 3: size, 5: data, 7: words } = pages.struct()
    let start = pages.position()
    at = start + size
    if (kind === 2) {
      for (let k = 0; k < words[1]; k++) dictionary.push(read(bytes, start, k))
      continue
    }
    // Levels of repetition, where 0 begins a row, and of definition, where less than the depth is an empty list.
    const levels = [1, Math.ceil(Math.log2(depth + 1))].map((width) => {
      const found = readRuns(bytes, start + 4, width, data[1])
      start += 4 + bytes.readUInt32LE(start)
      return found
    })
    const count = levels[1].filter((level) => level === depth).length
    const coded = data[2] === 0 ? null : readRuns(bytes, start + 1, bytes[start], count)
    let k = 0
    levels[0].forEach((repeated, i) => {
      if (!repeated) lists.push([])
      if (levels[1][i] === depth) lists.at(-1).push(coded ? dictionary[coded[k++]] : read(bytes, start, k++))
    })
    n += data[1]
  }
  return lists
}

function readPack(folder, { n_features }) {
  const manifest = JSON.parse(fs.readFileSync(`${folder}/_manifest.json`))
  const files = manifest.files.map((file) => fs.readFileSync(`${folder}/${file.name}`))
  return files.flatMap((bytes) => {
    const footer = thrift(bytes, bytes.length - 8 - bytes.readUInt32LE(bytes.length - 8)).struct()
    const facts = JSON.parse(footer[5].find((pair) => String(pair[1]) === 'mr_elm')[2])
    return footer[4].flatMap((group) => {
      const lists = {}
      for (const { 3: chunk } of group[1]) {
        const name = String(chunk[3][0])
        const first = footer[2].findIndex((element) => String(element[4]) === name) // then its list, then its element
        const depth = footer[2].slice(first, first + 3).filter((element) => element[3] !== 0).length
        if (['x', 'index', 'value', 'numbers', 'ones'].includes(name)) lists[name] = readLists(bytes, chunk, depth)
      }
      if (lists.x) return lists.x
      return Array.from({ length: group[3] }, (_, i) => {
        const row = new Array(n_features).fill(0)
        lists.index?.[i].forEach((j, k) => (row[j] = lists.value[i][k]))
        lists.numbers?.[i].forEach((value, k) => (row[facts.number_columns[k]] = value))
        lists.ones?.[i].forEach((j) => j >= 0 && (row[j] = 1))
        return row
      })
    })
  })
}

// Return the lines that are printed.
export function predictFile(path, rows, probable) {
  const model = readModel(path)
  const read = fs.statSync(rows).isDirectory() ? readPack : readText
  return read(rows, model.header).map((x) => {
    const scores = model.scores(x)
    const label = model.label(scores)
    return [...(label === null ? [] : [label]), ...(probable ? model.probabilities(scores) : scores)].join('\t')
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.log(predictFile(process.argv[2], process.argv[3], process.argv[4] === '--probabilities').join('\n'))
}
