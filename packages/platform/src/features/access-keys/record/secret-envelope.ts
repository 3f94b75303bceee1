// Encrypts the secrets in the record of an access key: each is bound to its field and record, and cannot be decrypted elsewhere.

import type { SealedValues } from "../../../foundation/encryption/sealed-value.ts";
import type { SealedAccessKey } from "./sealed-access-key.ts";

/** `place` is such as `spec.identity.connectorData`, `uid` that of the access key. */
export const sealSecret = (values: SealedValues, place: string, uid: string, secret: string): string =>
  values.seal(secret, purposeOf(place, uid));

export const openSecret = (values: SealedValues, place: string, uid: string, envelope: string): string | undefined =>
  // Envelopes from before they were bound to the record are for the place alone.
  values.open(envelope, purposeOf(place, uid)) ?? values.open(envelope, place);

/** The envelopes under the primary key; undefined where all of them are. One that cannot be decrypted stays as it is. */
export function renewSecrets(
  values: SealedValues,
  { secrets }: SealedAccessKey,
  uid: string,
): SealedAccessKey["secrets"] | undefined {
  const old = Object.entries(secrets).filter(([, envelope]) => !values.isUnderPrimary(envelope));
  const renewed = old.flatMap(([place, envelope]) => {
    const secret = openSecret(values, place, uid, envelope);
    return secret === undefined ? [] : [[place, sealSecret(values, place, uid, secret)]];
  });
  return renewed.length === 0 ? undefined : { ...secrets, ...Object.fromEntries(renewed) };
}

const purposeOf = (place: string, uid: string): string => `${place} of ${uid}`;
