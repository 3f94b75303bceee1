// All operations on secret values of access keys, in one place that uses the key ring. The store contains only keyed hashes, useless without the
// server key, which is not in the store.

import type { Random } from "@postern/apiserver/runtime/clock";
import type { KeyRing } from "../../../foundation/encryption/key-ring.ts";
import { createSealedValues, type SealedValues } from "../../../foundation/encryption/sealed-value.ts";
import { accessKeyDigest, sameDigest } from "./access-key-digest.ts";
import { type AccessKeyFormat, createAccessKeyFormat, newAccessKeyId } from "./access-key-format.ts";

/** The stored form of a key's value. `structured`: the value contains the id, by which the key is found. */
export type KeptAccessKey = {
  readonly id: string;
  /** base64url. */
  readonly digest: string;
  /** The key of the ring that the digest is under; absent: the ring's first. */
  readonly ringKey?: string;
  readonly structured: boolean;
};

type KeptDigest = Pick<KeptAccessKey, "digest"> & { readonly ringKey?: string | undefined };

export type AccessKeySecrets = SealedValues & {
  readonly format: AccessKeyFormat;
  generate(): string;
  /** Under every key of the ring, that of the primary one first. */
  digestsOf(value: string): readonly Uint8Array[];
  /** Whether a value is the one that was kept. Takes as long where nothing was. */
  matches(kept: KeptDigest | undefined, value: string): boolean;
  /** Whether what was kept is among what `digestsOf` gives. */
  isAmong(kept: KeptDigest, digests: readonly Uint8Array[]): boolean;
  /** Form in which to store a value. A value without a handle in it, or with one that is taken, gets another. */
  keep(value: string, isTaken: (id: string) => boolean): KeptAccessKey;
  /** Form to store in place of `kept` so that it is under the primary key; undefined where it is. */
  renew(kept: KeptAccessKey, value: string): KeptAccessKey | undefined;
  /** Whether a digest is under the primary key; `ringKey` as it is kept. */
  isCurrent(ringKey: string | undefined): boolean;
};

/** The digest of no value. */
const NO_DIGEST = new Uint8Array(32);

const bytesOf = ({ digest }: KeptDigest): Uint8Array => Buffer.from(digest, "base64url");

export function createAccessKeySecrets(deps: {
  readonly platformName: string;
  readonly keyRing: KeyRing;
  readonly random: Random;
}): AccessKeySecrets {
  const { platformName, keyRing, random } = deps;
  const format = createAccessKeyFormat(platformName);
  const keyOf = (ringKey: string | undefined) =>
    ringKey === undefined ? keyRing.keys.find(({ isFirst }) => isFirst) : keyRing.find(ringKey);
  /** Under the key of the ring that is named, or its first; undefined where that is not on the ring. */
  const digestOf = (value: string, ringKey: string | undefined): Uint8Array | undefined => {
    const key = keyOf(ringKey);
    return key && accessKeyDigest(key.accessKeys, value);
  };
  const underPrimary = (value: string): Pick<KeptAccessKey, "digest" | "ringKey"> => {
    const [{ id, isFirst, accessKeys }] = keyRing.keys;
    const digest = Buffer.from(accessKeyDigest(accessKeys, value)).toString("base64url");
    return isFirst ? { digest } : { digest, ringKey: id };
  };
  const isCurrent = (ringKey: string | undefined): boolean => keyOf(ringKey) === keyRing.keys[0];
  const values = createSealedValues(
    () => keyRing.keys,
    ({ accessKeys }) => accessKeys,
    random,
  );
  return {
    ...values,
    format,
    digestsOf: (value) => keyRing.keys.map(({ accessKeys }) => accessKeyDigest(accessKeys, value)),
    matches(kept, value) {
      const [primary] = keyRing.keys;
      const found = kept === undefined ? accessKeyDigest(primary.accessKeys, value) : digestOf(value, kept.ringKey);
      const expected = kept === undefined ? NO_DIGEST : bytesOf(kept);
      return found !== undefined && sameDigest(found, expected) && kept !== undefined;
    },
    isAmong(kept, digests) {
      const expected = bytesOf(kept);
      return digests.filter((digest) => sameDigest(digest, expected)).length > 0;
    },
    generate: () => format.generate(random).value,
    keep(value, isTaken) {
      const id = format.idOf(value);
      const structured = id !== undefined && !isTaken(id);
      return { id: structured ? id : newAccessKeyId(random), ...underPrimary(value), structured };
    },
    renew: ({ id, structured, ringKey }, value) =>
      isCurrent(ringKey) ? undefined : { id, ...underPrimary(value), structured },
    isCurrent,
  };
}
