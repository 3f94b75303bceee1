// The keys with which the platform authenticates at identity providers (private_key_jwt): one set in the store for all servers, published as a JWK set,
// and replaced in time.
// Source: OpenID Connect Core 1.0 sections 9 and 10.1.1, RFC 7517

import { createHash, createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from "node:crypto";
import { promisify } from "node:util";
import { MANAGEMENT } from "@postern/api/platform-names";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { Clock } from "@postern/apiserver/runtime/clock";
import {
  createInternalRecords,
  createInternalValues,
  type InternalRecords,
} from "../../../foundation/encryption/internal-records.ts";
import type { Foundation } from "../../../foundation/foundation.ts";

const CLIENT_KEYS_RECORD = "client-keys";

const DAY_MS = 86_400_000;
/** After this time a key is followed by another one. */
export const KEY_LIFE_MS = 30 * DAY_MS;
/** A new key is published for so long before it signs, and an old one after it signed last: providers keep the set for hours. */
export const KEY_OVERLAP_MS = DAY_MS;
/** A server signs by what it read so long ago: new keys sign a day later. */
const REREAD_MS = 60_000;
/** The first key signs at once, so that the set is never older. Anyone may ask for it. */
const REPUBLISH_MS = 1_000;

export type ClientAlgorithm = "ES256" | "RS256";

/** `pem`: PKCS #8. Secret. `createdAt`: milliseconds since the epoch. */
export type ClientKey = {
  readonly id: string;
  readonly algorithm: ClientAlgorithm;
  readonly pem: string;
  readonly createdAt: number;
};

export type ClientSigner = Pick<ClientKey, "id" | "algorithm"> & { readonly key: KeyObject };

export type ClientKeys = {
  /** The key that signs now. Makes the first one. */
  signer(algorithm: ClientAlgorithm): Promise<ClientSigner>;
  /** The JWK set of all that sign, have signed or will sign. Makes no keys. */
  published(): Promise<{ readonly keys: readonly JsonObject[] }>;
};

export const openClientKeys = ({ storage, keyRing, runtime: { clock, random } }: Foundation): ClientKeys =>
  createClientKeys(
    createInternalRecords({ storage, sealedValues: createInternalValues(keyRing, random) }, MANAGEMENT),
    clock,
  );

export function createClientKeys(
  records: Pick<InternalRecords, "create" | "read" | "update">,
  clock: Pick<Clock, "now" | "elapsed">,
): ClientKeys {
  let known: { readonly keys: readonly ClientKey[]; readonly readAt: number } | undefined;
  const writing = new Map<ClientAlgorithm, Promise<readonly ClientKey[]>>();
  const remember = (record: JsonObject | undefined): readonly ClientKey[] => {
    const keys = readKeys(record);
    known = { keys, readAt: clock.elapsed() };
    return keys;
  };

  const notOlderThan = async (ms: number): Promise<readonly ClientKey[]> =>
    known !== undefined && known.readAt + ms > clock.elapsed()
      ? known.keys
      : remember(await records.read(CLIENT_KEYS_RECORD));

  const renew = async (algorithm: ClientAlgorithm): Promise<readonly ClientKey[]> => {
    const made = await makeKey(algorithm, clock.now());
    const first = writeKeys([made]);
    const stored = await records.create(CLIENT_KEYS_RECORD, first);
    if (stored === first) return remember(first);
    // Another server may have been faster: then nothing changes.
    return remember(
      await records.update(CLIENT_KEYS_RECORD, (record) => {
        const next = nextKeys(readKeys(record), algorithm, clock.now(), made);
        return next && writeKeys(next);
      }),
    );
  };

  return {
    async signer(algorithm) {
      let keys = await notOlderThan(REREAD_MS);
      if (isDue(keys, algorithm, clock.now())) {
        const underWay = writing.get(algorithm) ?? renew(algorithm).finally(() => writing.delete(algorithm));
        writing.set(algorithm, underWay);
        keys = await underWay;
      }
      const signing = signingKey(keys, algorithm, clock.now());
      if (signing === undefined) throw new Error(`there is no key for ${algorithm}`);
      return { id: signing.id, algorithm, key: createPrivateKey(signing.pem) };
    },
    published: async () => ({ keys: (await notOlderThan(REPUBLISH_MS)).map(webKeyOf) }),
  };
}

const ofAlgorithm = (keys: readonly ClientKey[], algorithm: ClientAlgorithm): readonly ClientKey[] =>
  keys.filter((key) => key.algorithm === algorithm).sort((one, other) => one.createdAt - other.createdAt);

/** Whether the newest key is old, or an old one has been published for long enough. */
const isDue = (keys: readonly ClientKey[], algorithm: ClientAlgorithm, now: number): boolean => {
  const own = ofAlgorithm(keys, algorithm);
  return isOld(own.at(-1), now) || own.some((_, at) => isOver(own[at + 1], now));
};

const isOld = (newest: ClientKey | undefined, now: number): boolean =>
  newest === undefined || newest.createdAt + KEY_LIFE_MS <= now;

/** Whether a key can go, by the one that followed it. */
const isOver = (next: ClientKey | undefined, now: number): boolean =>
  next !== undefined && next.createdAt + 2 * KEY_OVERLAP_MS <= now;

/** The newest that has been published for long enough; the first one at once. Undefined without any. */
export function signingKey(keys: readonly ClientKey[], algorithm: ClientAlgorithm, now: number): ClientKey | undefined {
  const own = ofAlgorithm(keys, algorithm);
  return own.findLast(({ createdAt }) => createdAt + KEY_OVERLAP_MS <= now) ?? own[0];
}

/** The keys with `made` among them, where one is due, and without those that are over. Undefined: nothing is due. */
export function nextKeys(
  keys: readonly ClientKey[],
  algorithm: ClientAlgorithm,
  now: number,
  made: ClientKey,
): readonly ClientKey[] | undefined {
  if (!isDue(keys, algorithm, now)) return undefined;
  const own = ofAlgorithm(keys, algorithm);
  const left = own.filter((_, at) => !isOver(own[at + 1], now));
  const others = keys.filter((key) => key.algorithm !== algorithm);
  return [...others, ...left, ...(isOld(own.at(-1), now) ? [made] : [])];
}

const generate = promisify(generateKeyPair);

async function makeKey(algorithm: ClientAlgorithm, createdAt: number): Promise<ClientKey> {
  const { privateKey, publicKey } =
    algorithm === "ES256"
      ? await generate("ec", { namedCurve: "P-256" })
      : await generate("rsa", { modulusLength: 2048 });
  return {
    id: createHash("sha256")
      .update(publicKey.export({ type: "spki", format: "der" }))
      .digest("base64url"),
    algorithm,
    pem: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    createdAt,
  };
}

const webKeyOf = ({ id, algorithm, pem }: ClientKey): JsonObject => ({
  // A public key consists of texts.
  ...(createPublicKey(pem).export({ format: "jwk" }) as JsonObject),
  use: "sig",
  alg: algorithm,
  kid: id,
});

const writeKeys = (keys: readonly ClientKey[]): JsonObject => ({ keys: keys.map((key) => ({ ...key })) });

function readKeys(record: JsonObject | undefined): readonly ClientKey[] {
  const { keys } = record ?? {};
  return isJsonArray(keys) ? keys.flatMap(readKey) : [];
}

/** None for what a newer release may have written. */
function readKey(value: JsonValue): readonly ClientKey[] {
  const { id, algorithm, pem, createdAt } = isJsonObject(value) ? value : {};
  if (typeof id !== "string" || typeof pem !== "string" || typeof createdAt !== "number") return [];
  return algorithm === "ES256" || algorithm === "RS256" ? [{ id, algorithm, pem, createdAt }] : [];
}
