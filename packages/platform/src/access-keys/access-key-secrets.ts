// Everything that is done to the secret values of access keys, in one place that knows the server key.

import type { Random } from "@postern/apiserver/runtime/clock";
import { accessKeyDigest } from "./access-key-digest.ts";
import { type AccessKeyFormat, createAccessKeyFormat, newAccessKeyId } from "./access-key-format.ts";
import { createSealedValues, type SealedValues } from "./sealed-value.ts";

/** What is kept of a key's value. `structured`: the id stands in the value, so that the key is found by it. */
export type KeptAccessKey = { readonly id: string; readonly digest: string; readonly structured: boolean };

export type AccessKeySecrets = SealedValues & {
  readonly format: AccessKeyFormat;
  generate(): string;
  digestOf(value: string): Uint8Array;
  /** What to store of a value. One without a handle in it, or with one that is taken, gets another. */
  keep(value: string, isTaken: (id: string) => boolean): KeptAccessKey;
};

export type AccessKeySecretsOptions = {
  readonly platformName: string;
  /** At least 32 random bytes, kept outside the store. */
  readonly serverKey: Uint8Array;
  readonly random: Random;
};

export function createAccessKeySecrets({ platformName, serverKey, random }: AccessKeySecretsOptions): AccessKeySecrets {
  const format = createAccessKeyFormat(platformName);
  const digestOf = (value: string): Uint8Array => accessKeyDigest(serverKey, value);
  return {
    ...createSealedValues([serverKey], random),
    format,
    digestOf,
    generate: () => format.generate(random).value,
    keep(value, isTaken) {
      const id = format.idOf(value);
      const structured = id !== undefined && !isTaken(id);
      return {
        id: structured ? id : newAccessKeyId(random),
        digest: Buffer.from(digestOf(value)).toString("base64url"),
        structured,
      };
    },
  };
}
