// Reads the record of a test run twice: first to collect its secrets, then to find where they are.

import { hkdfSync } from "node:crypto";
import { closeSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import { basename } from "node:path";
import { type FoundSecret, safePlace, secretOf, secretsInRequest, secretsInText } from "./collect-secrets.ts";
import {
  type Handout,
  handoutOf,
  isHandoutCommand,
  isIssuingCommand,
  partedAt,
  RETURNS,
  showsItsInput,
  withoutDelivered,
} from "./places.ts";
import { type Frame, type KeptFile, keptFiles, readFrames } from "./run-record.ts";
import { partedFile } from "./secret-files.ts";
import { createSecretScanner, type SecretScanner } from "./secret-scanner.ts";
import type { Secret } from "./secret-shapes.ts";

export type ScanReport = {
  readonly secrets: number;
  readonly frames: number;
  readonly files: number;
  readonly bytes: number;
  /** One line per leaked secret and place. */
  readonly leaks: readonly string[];
};

/** The keys that a server derives from the secret in its key file, named as in `deriveServerKeys` of the platform. */
const PURPOSES = ["access keys", "internal records", "continue tokens", "backups"];
/** The minimum number of different digits in a random secret. */
const MIN_DIGITS = 8;
const MAX_TEXT_FILE_BYTES = 1 << 20;

export function findLeaks(folder: string): ScanReport {
  const files = keptFiles(folder).filter(({ path }) => !isProgram(path));
  const secrets = collectSecrets(folder, files);
  const scanner = createSecretScanner(secrets);
  const leaks = new Set<string>();
  let frames = 0;
  let bytes = 0;
  const leaksOf = createFrameCheck(scanner, putInBy(folder, scanner));
  for (const frame of readFrames(folder)) {
    if (isPutIn(frame)) continue;
    frames++;
    bytes += frame.content.length;
    for (const { what } of leaksOf(frame)) leaks.add(`${what} in ${safePlace(frame.place)}`);
  }
  for (const file of files) {
    bytes += statSync(file.path).size;
    for (const { what } of leaksInFile(file, scanner)) leaks.add(`${what} in the file ${file.name}`);
  }
  return { secrets: secrets.length, frames, files: files.length, bytes, leaks: [...leaks] };
}

/** The type field of ELF files, and the two executable types: a core dump has another (elf(5), `e_type`). */
const ELF = { magic: Buffer.from("\x7fELF"), typeAt: 16, programs: [2, 3] };

/** Tests of the installation copy Node, which is most of what a run leaves; no server writes executables. */
function isProgram(path: string): boolean {
  const head = Buffer.alloc(ELF.typeAt + 2);
  const file = openSync(path, "r");
  try {
    if (readSync(file, head) < head.length) return false;
  } finally {
    closeSync(file);
  }
  return head.indexOf(ELF.magic) === 0 && ELF.programs.includes(head.readUInt16LE(ELF.typeAt));
}

const isPutIn = ({ kind }: Frame): boolean => kind === "request" || kind === "input";

type PutIn = {
  /** For each of `RETURNS`. */
  readonly returned: readonly ReadonlySet<Secret>[];
  /** By the place of the input. */
  readonly byPlace: ReadonlyMap<string, ReadonlySet<Secret>>;
};

/** Secrets that tests put where they are returned again. */
function putInBy(folder: string, scanner: SecretScanner): PutIn {
  const returned = RETURNS.map(() => new Set<Secret>());
  const byPlace = new Map<string, ReadonlySet<Secret>>();
  for (const frame of readFrames(folder)) {
    if (!isPutIn(frame)) continue;
    const found = scanner.scan(frame.content);
    if (found.size === 0) continue;
    for (const [at, { isPutIn: isOf }] of RETURNS.entries()) {
      if (isOf(frame)) for (const secret of found) returned[at]?.add(secret);
    }
    if (frame.kind === "input") byPlace.set(frame.place, new Set([...(byPlace.get(frame.place) ?? []), ...found]));
  }
  return { returned, byPlace };
}

/** Without a field, the kind of the object says which one it is. */
type IssuedIn = Partial<Pick<Handout, "field" | "again" | "count">>;

/** The secrets in a frame that are not allowed there. */
function createFrameCheck(scanner: SecretScanner, putIn: PutIn): (frame: Frame) => Iterable<Secret> {
  /** Where each credential that is issued once was issued. */
  const handedOut = new Map<string, Frame>();

  const leaksInHandout = (frame: Frame, { field, again, count = 1 }: IssuedIn): Iterable<Secret> => {
    const parted = partedAt(frame.content, field);
    if (parted === undefined) return scanner.scan(frame.content);
    const rest = scanner.scan(Buffer.from(parted.rest));
    const shown = scanner.scan(Buffer.from(parted.shown));
    const credentials = new Set([...shown].map((secret) => secret.credential));
    if (credentials.size > count) return shown;
    // Clients may choose a value again.
    const isMade = [...shown].some(({ random }) => random);
    if (!isMade || again === true) return rest;
    if ([...credentials].some((credential) => handedOut.has(credential))) return shown;
    for (const credential of credentials) handedOut.set(credential, frame);
    return rest;
  };

  return (frame) => {
    const all = scanner.scan(frame.content);
    const found = all.size === 0 ? all : scanner.scan(withoutDelivered(frame));
    if (found.size === 0) return found;
    const handout = handoutOf(frame);
    if (handout !== undefined) return leaksInHandout(frame, handout);
    if (isIssuingCommand(frame)) return new Set([...found].map(({ credential }) => credential)).size > 1 ? found : [];
    if (isHandoutCommand(frame)) return leaksInHandout(frame, { again: true });
    const allowed = new Set(showsItsInput(frame) ? putIn.byPlace.get(frame.place) : []);
    for (const [at, { shows }] of RETURNS.entries()) {
      if (shows(frame)) for (const secret of putIn.returned[at] ?? []) allowed.add(secret);
    }
    return [...found].filter((secret) => !allowed.has(secret));
  };
}

function leaksInFile({ path, name }: KeptFile, scanner: SecretScanner): Iterable<Secret> {
  const found = scanner.scanFile(path);
  if (found.size === 0) return found;
  const parted = partedFile(name, readFileSync(path, "latin1"));
  if (parted === undefined) return found;
  const inParts = parted.parts.flatMap(({ text, kinds }) => {
    const inPart = [...scanner.scan(Buffer.from(text, "latin1"))];
    const isOne = new Set(inPart.map(({ credential }) => credential)).size <= 1;
    return isOne ? inPart.filter(({ kind }) => !kinds.includes(kind)) : inPart;
  });
  return [...inParts, ...scanner.scan(Buffer.from(parted.rest, "latin1"))];
}

function collectSecrets(folder: string, files: readonly KeptFile[]): readonly FoundSecret[] {
  const byId = new Map<string, FoundSecret>();
  const add = (found: readonly FoundSecret[]): void => {
    for (const secret of found) if (!byId.has(secret.id)) byId.set(secret.id, secret);
  };
  for (const { kind, place, content } of readFrames(folder)) {
    const text = content.toString("latin1");
    const isOfKeys =
      kind === "request" ? !/\/secrets/.test(place) : kind === "input" && text.includes("OwnedAccessKey");
    add(isOfKeys ? secretsInRequest(content.toString(), place) : secretsInText(text, place));
  }
  for (const { path, name } of files) {
    if (statSync(path).size > MAX_TEXT_FILE_BYTES) continue;
    const content = readFileSync(path);
    add(secretsInText(content.toString("latin1"), name));
    if (basename(name) === "server.key") add(serverSecrets(content.toString().trim(), name));
  }
  return [...byId.values()];
}

function serverSecrets(text: string, from: string): readonly FoundSecret[] {
  // A secret of one repeated byte occurs everywhere.
  if (!/^[0-9a-f]{64}$/.test(text) || new Set(text).size < MIN_DIGITS) return [];
  const secret = Buffer.from(text, "hex");
  const derived = PURPOSES.map((purpose) =>
    secretOf(
      "secret of a server",
      `key of the server for ${purpose} (${from})`,
      Buffer.from(hkdfSync("sha256", secret, "", `postern ${purpose}`, 32)),
    ),
  );
  return [secretOf("secret of a server", `secret of the server (${from})`, secret), ...derived];
}
