// Authenticates bearer tokens from a file, as kube-apiserver's --token-auth-file.
// Source: k8s.io/apiserver/pkg/authentication/token/tokenfile/tokenfile.go

import { createHash } from "node:crypto";
import type { Authentication } from "./authenticator.ts";
import type { TokenAuthenticator } from "./token-authenticator.ts";

const digestOf = (token: string): string => createHash("sha256").update(token).digest("base64");

/**
 * Authenticates the tokens of a file in the format of kube-apiserver's `--token-auth-file`: CSV (RFC 4180) without a header, a token on each line.
 *
 * | column | meaning |
 * |---|---|
 * | token | the bearer token |
 * | user | the name in RBAC and audit |
 * | uid | identifies the user if the name is given to another one later; may be empty |
 * | groups | optional: names, joined by commas, in quotes. `system:masters` may do everything |
 *
 * `text` is the content of the file, which is read once. If two lines have the same token, the later one counts. Only digests of tokens are kept,
 * so that the time of a lookup reveals nothing. Throws an Error if a line has fewer than three columns.
 *
 * @example
 * ```ts
 * import { randomBytes } from "node:crypto";
 * import { createTokenFileAuthenticator } from "@postern/kubernetes";
 *
 * const newToken = () => randomBytes(24).toString("hex");
 * export const tokens = createTokenFileAuthenticator(`
 * ${newToken()},admin,1,"system:masters"
 * ${newToken()},alice,2
 * ${newToken()},ci,3,"bakers,readers"
 * `);
 * ```
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
