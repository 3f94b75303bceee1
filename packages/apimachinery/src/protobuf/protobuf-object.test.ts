// Vectors: bodies from k8s.io/apimachinery's protobuf serializer v1.32.13 and captured from kubectl v1.32.13.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeProtobufObject, encodeProtobufObject, isProtobufKind } from "./protobuf-object.ts";
import vectors from "./testdata/protobuf-reviews.json" with { type: "json" };
import { ProtobufError } from "./wire-reader.ts";

const endpoint = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview" };
const bytesOf = (base64: string) => new Uint8Array(Buffer.from(base64, "base64"));

/** Go writes null times, which an object without them means. */
const withoutNulls = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (_, member) => (member === null ? undefined : member));

/** Enough of a writer for these tests. */
function field(number: number, value: string | number | Uint8Array): Uint8Array {
  if (typeof value === "number")
    return Uint8Array.from([...varint(BigInt(number << 3)), ...varint(BigInt.asUintN(64, BigInt(value)))]);
  const bytes = typeof value === "string" ? new TextEncoder().encode(value) : value;
  return Uint8Array.from([...varint(BigInt((number << 3) | 2)), ...varint(BigInt(bytes.length)), ...bytes]);
}
function varint(value: bigint): number[] {
  return value < 0x80n ? [Number(value)] : [Number(value & 0x7fn) | 0x80, ...varint(value >> 7n)];
}
const join = (...parts: Uint8Array[]) => Uint8Array.from(parts.flatMap((part) => [...part]));
const envelope = (apiVersion: string, kind: string, raw: Uint8Array) =>
  join(Uint8Array.from([0x6b, 0x38, 0x73, 0]), field(1, join(field(1, apiVersion), field(2, kind))), field(2, raw));

describe("upstream vectors", () => {
  it.each(vectors.cases)("$id $note", ({ base64, json }) => {
    const object = decodeProtobufObject(bytesOf(base64), endpoint);
    expect(object).toMatchObject(withoutNulls(json) as object);
    expect(encodeProtobufObject(object).toString("base64")).toBe(base64);
  });
});

describe("decodeProtobufObject", () => {
  it("reads a TokenReview with its status", () => {
    const extra = join(field(1, "scopes"), field(2, join(field(1, "a"), field(1, "b"))));
    const user = join(field(1, "alice"), field(2, "7"), field(3, "devs"), field(4, extra));
    const raw = join(
      field(1, join(field(1, "x"), field(11, join(field(1, "__proto__"), field(2, "v"))))),
      field(2, join(field(1, "secret"), field(2, "aud1"), field(2, "aud2"))),
      field(3, join(field(1, 1), field(2, user))),
    );
    const object = decodeProtobufObject(envelope("authentication.k8s.io/v1", "TokenReview", raw), endpoint);
    expect(object).toMatchObject({
      kind: "TokenReview",
      metadata: { name: "x" },
      spec: { token: "secret", audiences: ["aud1", "aud2"] },
      status: {
        authenticated: true,
        user: { username: "alice", uid: "7", groups: ["devs"], extra: { scopes: ["a", "b"] } },
      },
    });
    expect(JSON.stringify(object)).toContain('"labels":{"__proto__":"v"}');
  });

  it("keeps zeros and falses that mean something", () => {
    const raw = join(field(1, 0), field(3, 0));
    expect(decodeProtobufObject(envelope("v1", "DeleteOptions", raw), endpoint)).toEqual({
      apiVersion: "v1",
      kind: "DeleteOptions",
      gracePeriodSeconds: 0,
      orphanDependents: false,
    });
  });

  it("reads negative integers and times before 1970", () => {
    const raw = join(field(1, join(field(8, field(1, -1)), field(10, -5))));
    expect(
      decodeProtobufObject(envelope("authentication.k8s.io/v1", "SelfSubjectReview", raw), endpoint),
    ).toMatchObject({
      metadata: { creationTimestamp: "1969-12-31T23:59:59Z", deletionGracePeriodSeconds: -5 },
    });
  });

  it("takes the endpoint's type where the body has none, and skips unknown fields", () => {
    const raw = join(field(2, field(2, field(1, "/healthz"))), field(99, "later"));
    expect(decodeProtobufObject(envelope("", "", raw), endpoint)).toEqual({
      ...endpoint,
      spec: { nonResourceAttributes: { path: "/healthz" } },
    });
  });

  it.each([
    ["JSON", new TextEncoder().encode("{}"), "does not appear to be a protobuf message"],
    ["nothing", new Uint8Array(), "does not appear to be a protobuf message"],
    ["an unknown kind", envelope("v1", "Widget", new Uint8Array()), 'no kind "Widget" is registered for v1'],
    ["a kind of the prototype", envelope("", "constructor", new Uint8Array()), "no kind"],
    ["a length past the end", Uint8Array.from([0x6b, 0x38, 0x73, 0, 0x12, 0xff, 0xff, 0xff, 0x7f]), "unexpected EOF"],
    ["an endless varint", Uint8Array.from([0x6b, 0x38, 0x73, 0, ...Array(20).fill(0xff)]), "integer overflow"],
    ["a group", Uint8Array.from([0x6b, 0x38, 0x73, 0, 0x0b]), "illegal wire type"],
    ["field number zero", Uint8Array.from([0x6b, 0x38, 0x73, 0, 0x02, 0]), "illegal field number"],
    ["a time out of range", envelope("", "", field(1, field(8, field(1, 2 ** 50)))), "time out of range"],
    [
      "managed fields that are no JSON",
      envelope("", "", field(1, field(17, field(7, field(1, "{"))))),
      "a raw object is not JSON",
    ],
    ["gzip", join(Uint8Array.from([0x6b, 0x38, 0x73, 0]), field(3, "gzip")), "unsupported content encoding gzip"],
  ])("refuses %s", (_, body, message) => {
    expect(() => decodeProtobufObject(body, endpoint)).toThrow(message);
    expect(() => decodeProtobufObject(body, endpoint)).toThrow(ProtobufError);
  });

  it("answers any mutation of a real body with an object or a ProtobufError", () => {
    const bodies = vectors.cases.map(({ base64 }) => bytesOf(base64));
    const mutation = fc.tuple(
      fc.constantFrom(...bodies),
      fc.array(fc.tuple(fc.nat(300), fc.nat(255)), { maxLength: 6 }),
      fc.nat(300),
    );
    fc.assert(
      fc.property(mutation, ([body, edits, cut]) => {
        const bytes = body.slice(0, Math.max(4, body.length - cut));
        for (const [at, byte] of edits) if (at >= 4 && at < bytes.length) bytes[at] = byte;
        try {
          expect(decodeProtobufObject(bytes, endpoint)).toBeTypeOf("object");
        } catch (error) {
          expect(error).toHaveProperty("name", "ProtobufError");
        }
      }),
      { numRuns: 3000 },
    );
  });
});

describe("isProtobufKind", () => {
  it("decodes what Go clients send as protobuf", () => {
    expect(isProtobufKind("authorization.k8s.io/v1", "SelfSubjectRulesReview")).toBe(true);
    expect(isProtobufKind("v1", "DeleteOptions")).toBe(true);
    expect(isProtobufKind("v1", "Widget")).toBe(false);
  });
});
