// Goes through the record of a test run twice: first for the secrets that came up in it, then for where they stand.

import { hkdfSync } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { type FoundSecret, safePlace, secretOf, secretsInRequest, secretsInText } from "./collect-secrets.ts";
import { isIssuing, isIssuingCommand, isSecretFile, isShowing } from "./places.ts";
import { filesFolder, keptFiles, readFrames } from "./run-record.ts";
import { createSecretScanner } from "./secret-scanner.ts";
import type { Secret } from "./secret-shapes.ts";

export type ScanReport = {
  readonly secrets: number;
  readonly frames: number;
  readonly files: number;
  readonly bytes: number;
  /** Each says which secret stands where. */
  readonly leaks: readonly string[];
};

/** What a server derives from the secret in its key file: as `deriveServerKeys` of the platform names it. */
const PURPOSES = ["access keys", "internal records", "continue tokens", "backups"];
const MAX_TEXT_FILE_BYTES = 1 << 20;

export function findLeaks(folder: string): ScanReport {
  const secrets = collectSecrets(folder);
  const scanner = createSecretScanner(secrets);
  const leaks = new Set<string>();
  let frames = 0;
  let bytes = 0;
  for (const frame of readFrames(folder)) {
    if (frame.kind === "request") continue;
    frames++;
    bytes += frame.content.length;
    const found = scanner.scan(frame.content);
    if (found.size === 0 || isShowing(frame)) continue;
    const mayShow = isIssuing(frame) || isIssuingCommand(frame);
    if (mayShow && accessKeysAmong(found) <= 1) continue;
    for (const { what } of found) leaks.add(`${what} in ${safePlace(frame.place)}`);
  }
  const files = keptFiles(folder);
  for (const name of files) {
    const path = join(filesFolder(folder), name);
    bytes += statSync(path).size;
    if (isSecretFile(name)) continue;
    for (const { what } of scanner.scanFile(path)) leaks.add(`${what} in the file ${name}`);
  }
  return { secrets: secrets.length, frames, files: files.length, bytes, leaks: [...leaks] };
}

const accessKeysAmong = (found: ReadonlySet<Secret>): number =>
  [...found].filter(({ what }) => what.startsWith("access key")).length;

function collectSecrets(folder: string): readonly FoundSecret[] {
  const byId = new Map<string, FoundSecret>();
  const add = (found: readonly FoundSecret[]): void => {
    for (const secret of found) if (!byId.has(secret.id)) byId.set(secret.id, secret);
  };
  for (const { kind, place, content } of readFrames(folder)) {
    const text = content.toString("latin1");
    add(kind === "request" ? secretsInRequest(content.toString(), place) : secretsInText(text, place));
  }
  for (const name of keptFiles(folder)) {
    const path = join(filesFolder(folder), name);
    if (statSync(path).size > MAX_TEXT_FILE_BYTES) continue;
    const content = readFileSync(path);
    add(secretsInText(content.toString("latin1"), name));
    if (basename(name) === "server.key") add(serverSecrets(content.toString().trim(), name));
  }
  return [...byId.values()];
}

function serverSecrets(text: string, from: string): readonly FoundSecret[] {
  if (!/^[0-9a-f]{64}$/.test(text)) return [];
  const secret = Buffer.from(text, "hex");
  const derived = PURPOSES.map((purpose) =>
    secretOf(
      `key of the server for ${purpose} (${from})`,
      Buffer.from(hkdfSync("sha256", secret, "", `postern ${purpose}`, 32)),
      true,
    ),
  );
  return [secretOf(`secret of the server (${from})`, secret, true), ...derived];
}
