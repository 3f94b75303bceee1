// The continue token of paginated lists.
// Source: k8s.io/apiserver/pkg/storage/continue.go

import { createHmac, createSecretKey, timingSafeEqual } from "node:crypto";
import { goKindOf, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { badRequestError } from "@postern/apimachinery/meta/api-error";
import { isDotSegment } from "../../request/canonical-path.ts";
import type { Revision } from "../../storage/storage.ts";

const VERSION = "meta.k8s.io/v1";

/** Continues with whatever is there now, because the snapshot is gone. */
export const INCONSISTENT: Revision = -1;

export type ContinuePosition = {
  /** The snapshot that the list is read from, or INCONSISTENT. */
  readonly revision: Revision;
  /** The key after which the next page begins, relative to the prefix that is listed. */
  readonly startAfter: string;
};

export type ContinueTokens = {
  encode(position: ContinuePosition): string;
  /** Throws 400 for a token that this server did not make. */
  decode(token: string): ContinuePosition;
};

/** Tokens of the newest revision that are kept: the same lists are read again and again, and a signature takes as long as their page. */
const MAX_KEPT = 1_000;

/** With a key, tokens carry a signature and forged ones are refused. */
export function createContinueTokens(key?: Uint8Array): ContinueTokens {
  // Given bytes, Node makes a key with each signature.
  const secret = key === undefined ? undefined : createSecretKey(key);
  const sign = (revision: Revision, start: string): string =>
    secret === undefined
      ? ""
      : createHmac("sha256", secret).update(`${revision}\0${start}`).digest("base64url").slice(0, 22);

  const make = ({ revision, startAfter }: ContinuePosition): string => {
    const start = `${startAfter}\0`;
    const signature = sign(revision, start);
    const token = { v: VERSION, rv: revision, start, ...(signature === "" ? {} : { sig: signature }) };
    return Buffer.from(JSON.stringify(token)).toString("base64url");
  };
  /** The tokens of `keptRevision`, by the key that they start after. */
  const kept = new Map<string, string>();
  let keptRevision: Revision = INCONSISTENT;

  return {
    encode(position) {
      const { revision, startAfter } = position;
      if (revision !== keptRevision || kept.size === MAX_KEPT) kept.clear();
      keptRevision = revision;
      const token = kept.get(startAfter) ?? make(position);
      kept.set(startAfter, token);
      return token;
    },

    decode(token) {
      const { revision, start, signature } = parseToken(token);
      const expected = sign(revision, start);
      if (expected !== "" && !sameText(expected, signature)) throw invalidToken("signature does not match");
      return { revision, startAfter: start.endsWith("\0") ? start.slice(0, -1) : start };
    },
  };
}

function parseToken(token: string): { revision: Revision; start: string; signature: string } {
  const bytes = decodeBase64Url(token);
  let value: JsonValue;
  try {
    value = parseJson(bytes);
  } catch (error) {
    throw invalidToken(error instanceof Error ? error.message : "not JSON");
  }
  const fields = membersOf(value);
  const version = typeof fields["v"] === "string" ? fields["v"] : "";
  if (version !== VERSION) throw invalidToken(`server does not recognize this encoded version ${version}`);
  const revision = fields["rv"];
  if (typeof revision !== "number" || !Number.isSafeInteger(revision) || revision === 0) {
    throw invalidToken(`incorrect encoded start resourceVersion (version ${VERSION})`);
  }
  const start = fields["start"];
  if (typeof start !== "string" || start === "") throw invalidToken(`encoded start key empty (version ${VERSION})`);
  if (!isCleanKey(start)) throw invalidToken(start);
  return { revision, start, signature: typeof fields["sig"] === "string" ? fields["sig"] : "" };
}

/** Members of a token, with their required types. */
const MEMBERS = [
  ["v", "string"],
  ["rv", "int64"],
  ["start", "string"],
] as const;

function membersOf(value: JsonValue): JsonObject {
  const refuse = (found: JsonValue, target: string): never => {
    throw invalidToken(`json: cannot unmarshal ${goKindOf(found)} into Go ${target}`);
  };
  if (value === null) return {};
  if (!isJsonObject(value)) return refuse(value, "value of type storage.continueToken");
  for (const [name, type] of MEMBERS) {
    const member = value[name] ?? null;
    const kind = type === "int64" ? "number" : type;
    if (member !== null && goKindOf(member) !== kind)
      refuse(member, `struct field continueToken.${name} of type ${type}`);
  }
  return value;
}

/** Whether no segment would be resolved away: such a key could leave what is listed. */
const isCleanKey = (key: string): boolean =>
  key === "/" ||
  key
    .replace(/^\//, "")
    .split("/")
    .every((segment) => segment !== "" && !isDotSegment(segment));

/** Node skips what is not base64; Go names the first byte that is wrong. */
function decodeBase64Url(token: string): Uint8Array {
  const bad = token.search(/[^A-Za-z0-9_\-\r\n]/);
  if (bad >= 0) throw invalidToken(`illegal base64 data at input byte ${bad}`);
  if (token.length % 4 === 1) throw invalidToken(`illegal base64 data at input byte ${token.length - 1}`);
  return Buffer.from(token, "base64url");
}

const invalidToken = (why: string) => badRequestError(`invalid continue token: continue key is not valid: ${why}`);

function sameText(a: string, b: string): boolean {
  const left = Buffer.from(a);
  const right = Buffer.from(b);
  return left.length === right.length && timingSafeEqual(left, right);
}
