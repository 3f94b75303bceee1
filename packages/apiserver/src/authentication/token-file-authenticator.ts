// Authenticates bearer tokens from a file, as kube-apiserver's --token-auth-file.
// Source: k8s.io/apiserver/pkg/authentication/token/tokenfile/tokenfile.go

import { createHash } from "node:crypto";
import type { Authentication } from "./authenticator.ts";
import type { TokenAuthenticator } from "./token-authenticator.ts";

const digestOf = (token: string): string => createHash("sha256").update(token).digest("base64");

/**
 * `text` is CSV: token, user name, uid, and optionally the groups joined by commas in one quoted column. Later lines win.
 * Throws when a line has fewer than three columns. Tokens are kept as digests only, so the timing of a lookup reveals nothing.
 */
export function createTokenFileAuthenticator(text: string): TokenAuthenticator {
  const byDigest = new Map<string, Authentication>();
  for (const [number, record] of parseCsv(text).entries()) {
    const [token, name, uid, groups = ""] = record;
    if (token === undefined || name === undefined || uid === undefined) {
      throw new Error(
        `token file must have at least 3 columns (token, user name, user uid), record ${number + 1} has ${record.length}`,
      );
    }
    if (token === "") continue;
    byDigest.set(digestOf(token), {
      user: {
        name,
        ...(uid === "" ? {} : { uid }),
        groups: groups === "" ? [] : groups.split(","),
      },
      credential: { id: `token-file:${name}` },
    });
  }
  return { authenticateToken: (token) => byDigest.get(digestOf(token)) };
}

/** Records of RFC 4180 text; empty lines are left out. Throws on a quote that is not closed. */
function parseCsv(text: string): readonly (readonly string[])[] {
  const records: string[][] = [];
  let record: string[] = [];
  let field = "";
  let quoted = false;
  const endRecord = (): void => {
    record.push(field);
    if (record.length > 1 || field !== "") records.push(record);
    record = [];
    field = "";
  };
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (quoted) {
      if (char !== '"') field += char;
      else if (text[at + 1] === '"') field += text[at++];
      else quoted = false;
    } else if (char === '"' && field === "") {
      quoted = true;
    } else if (char === ",") {
      record.push(field);
      field = "";
    } else if (char === "\n") {
      endRecord();
    } else if (char !== "\r") {
      field += char;
    }
  }
  if (quoted) throw new Error("token file has a quote that is not closed");
  endRecord();
  return records;
}
