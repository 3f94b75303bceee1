// Reads a protobuf OpenAPI v2 document back into its JSON, with a table of its own: what Go clients would see.

export type Fields = {
  readonly [number: number]: readonly [name: string, read: (content: Buffer | bigint) => any, list?: "list"];
};

export const text = (content: Buffer | bigint): string => content.toString();
export const flag = (content: Buffer | bigint): boolean => content === 1n;
export const integer = (content: Buffer | bigint): number => Number(BigInt.asIntN(64, content as bigint));
export const double = (content: Buffer | bigint): number => (content as Buffer).readDoubleLE();
export const any = (content: Buffer | bigint): any => JSON.parse(decode(content, { 2: ["yaml", text] }).yaml);

function* wireFields(buffer: Buffer): Generator<readonly [number, Buffer | bigint]> {
  let offset = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = BigInt(buffer[offset++]!);
      value |= (byte & 0x7fn) << shift;
      if (byte < 0x80n) return value;
    }
  };
  const take = (length: number): Buffer => {
    offset += length;
    return buffer.subarray(offset - length, offset);
  };
  while (offset < buffer.length) {
    const tag = Number(varint());
    if ((tag & 7) === 0) yield [tag >> 3, varint()];
    else if ((tag & 7) === 1) yield [tag >> 3, take(8)];
    else if ((tag & 7) === 2) yield [tag >> 3, take(Number(varint()))];
    else throw new Error(`wire type ${tag & 7}`);
  }
}

export function decode(content: Buffer | bigint, fields: Fields, extensions?: number): any {
  const message: any = {};
  for (const [number, value] of wireFields(content as Buffer)) {
    if (number === extensions) {
      const { name, value: extension } = decode(value, { 1: ["name", text], 2: ["value", any] });
      message[name] = extension;
      continue;
    }
    const field = fields[number];
    if (field === undefined) throw new Error(`unknown field ${number}`);
    const [name, read, list] = field;
    if (list === undefined) message[name] = read(value);
    else message[name] = [...(message[name] ?? []), read(value)];
  }
  return message;
}

/** A map travels as messages with a name and a value, in field `number`. */
export const map =
  (number: number, read: (content: Buffer | bigint) => any) =>
  (content: Buffer | bigint): any => {
    const pair = (entry: Buffer | bigint) => decode(entry, { 1: ["name", text], 2: ["value", read] });
    const { entries = [] } = decode(content, { [number]: ["entries", pair, "list"] });
    return Object.fromEntries(entries.map((entry: any) => [entry.name, entry.value]));
  };

/** One of several messages, each in its own field. */
export const oneOf =
  (readers: { readonly [number: number]: (content: Buffer | bigint) => any }) =>
  (content: Buffer | bigint): any => {
    for (const [number, value] of wireFields(content as Buffer)) return readers[number]!(value);
    return undefined;
  };

const schema = (content: Buffer | bigint): any => {
  const decoded = decode(
    content,
    {
      1: ["$ref", text],
      2: ["format", text],
      3: ["title", text],
      4: ["description", text],
      5: ["default", any],
      6: ["multipleOf", double],
      7: ["maximum", double],
      8: ["exclusiveMaximum", flag],
      9: ["minimum", double],
      10: ["exclusiveMinimum", flag],
      11: ["maxLength", integer],
      12: ["minLength", integer],
      13: ["pattern", text],
      14: ["maxItems", integer],
      15: ["minItems", integer],
      16: ["uniqueItems", flag],
      17: ["maxProperties", integer],
      18: ["minProperties", integer],
      19: ["required", text, "list"],
      20: ["enum", any, "list"],
      21: ["additionalProperties", oneOf({ 1: schema, 2: flag })],
      22: ["type", oneOf({ 1: text })],
      23: ["items", oneOf({ 1: schema })],
      25: ["properties", map(1, schema)],
    },
    31,
  );
  return decoded;
};

const reference = (content: Buffer | bigint) => decode(content, { 1: ["$ref", text], 2: ["description", text] });
const parameterFields: Fields = { 1: ["required", flag], 2: ["in", text], 3: ["description", text], 4: ["name", text] };
const body = (content: Buffer | bigint) =>
  decode(content, {
    1: ["description", text],
    2: ["name", text],
    3: ["in", text],
    4: ["required", flag],
    5: ["schema", schema],
  });
const query = (content: Buffer | bigint) =>
  decode(content, { ...parameterFields, 6: ["type", text], 20: ["uniqueItems", flag] });
const path = (content: Buffer | bigint) =>
  decode(content, { ...parameterFields, 5: ["type", text], 19: ["uniqueItems", flag] });
const parameter = oneOf({ 1: body, 2: oneOf({ 3: query, 4: path }) });
const parameterItem = oneOf({ 1: parameter, 2: reference });
const response = (content: Buffer | bigint) =>
  decode(content, { 1: ["description", text], 2: ["schema", oneOf({ 1: schema })] });

const operation = (content: Buffer | bigint) =>
  decode(
    content,
    {
      1: ["tags", text, "list"],
      3: ["description", text],
      5: ["operationId", text],
      6: ["produces", text, "list"],
      7: ["consumes", text, "list"],
      8: ["parameters", parameterItem, "list"],
      9: ["responses", map(1, oneOf({ 1: response, 2: reference }))],
      10: ["schemes", text, "list"],
    },
    13,
  );

const pathItem = (content: Buffer | bigint) =>
  decode(content, {
    2: ["get", operation],
    3: ["put", operation],
    4: ["post", operation],
    5: ["delete", operation],
    8: ["patch", operation],
    9: ["parameters", parameterItem, "list"],
  });

const apiKey = (content: Buffer | bigint) =>
  decode(content, { 1: ["type", text], 2: ["name", text], 3: ["in", text], 4: ["description", text] });

const stringArray = (content: Buffer | bigint) => decode(content, { 1: ["value", text, "list"] }).value ?? [];

/** Throws on a field that this table does not know. */
export const decodeGnosticDocument = (content: Buffer): any =>
  decode(content, {
    1: ["swagger", text],
    2: ["info", (info) => decode(info, { 1: ["title", text], 2: ["version", text] })],
    8: ["paths", map(2, pathItem)],
    9: ["definitions", map(1, schema)],
    10: ["parameters", map(1, parameter)],
    12: ["security", map(1, stringArray), "list"],
    13: ["securityDefinitions", map(1, oneOf({ 2: apiKey }))],
  });
