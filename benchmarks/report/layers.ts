// The layer of a source file in the path of a request: the first row that matches.

/** In the order in which a request passes them. */
const LAYERS: readonly (readonly [layer: string, files: RegExp])[] = [
  [
    "JSON, YAML, protobuf: parse and write",
    /^apimachinery\/(json|yaml|protobuf|patch)\/|endpoints\/decode\/parse-body/,
  ],
  [
    "audit: event, redaction, line, hash, file",
    /^apiserver\/(audit\/|chain\/with-audit)|^platform\/features\/audit\/|text\/redact/,
  ],
  [
    "authentication",
    /with-authentication|^apiserver\/(authentication|request\/credentials)|access-key-(authenticator|format)|sign-in\//,
  ],
  ["authorization", /with-authorization|^(apiserver|platform\/features)\/authorization\/|key-ownership/],
  [
    "flow control, deadlines, metrics, rest of the chain",
    /^apiserver\/(chain|limits|metrics|context|tracing|logging)\//,
  ],
  ["validation: schema, metadata, rules", /apimachinery\/(schema|validation)\/|validat|check-schema|^cel\//],
  ["field managers", /structured-merge|field-manager/],
  ["admission", /admission|^kubernetes\/policies\//],
  ["keys: value, hash, index, strategy", /^platform\/(features\/(access-keys|directory)|foundation\/lookup)\//],
  ["watch cache and watches", /^apiserver\/cache\/|endpoints\/handlers\/watch/],
  ["store", /^stores\/|^apiserver\/storage\/|^platform\/foundation\/(store|encryption)\//],
  [
    "routing, registry, response",
    /^apiserver\/(endpoints|registry|server|request|controllers)\/|^(kubernetes|api|platform)\//,
  ],
  ["transport", /^apiserver\/transport\//],
  ["clock, timers, randomness", /^apiserver\/runtime\/|node:(internal\/)?timers/],
  [
    "HTTP, TLS, streams of Node",
    /node:(_?http|net|tls|_tls|stream|events|internal\/(http|stream|js_stream|tls|net|errors))/,
  ],
  ["garbage collection", /^\(garbage collector\)$/],
  ["native code, promises, rest of Node", /^native$|^\(program\)$|^node:/],
];

const OTHER = "times, names, other texts";

export const layerOf = (file: string): string => LAYERS.find(([, files]) => files.test(file))?.[0] ?? OTHER;

export const LAYER_NAMES: readonly string[] = [...LAYERS.map(([layer]) => layer), OTHER];
