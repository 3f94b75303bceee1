// Fixtures for tests of encryption: the ring of a store, and the store with its secrets opened.

import type { Clock } from "@postern/apiserver/runtime/clock";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import type { Storage } from "@postern/apiserver/storage/storage";
import { createSealedStorage } from "../sealed-storage.ts";
import { openKeyRing, type StoredKeyRing } from "../stored-key-ring.ts";

const { random } = systemRuntime;

export const SERVER_KEY = Buffer.alloc(32, 1);
export const OTHER_KEY = Buffer.alloc(32, 2);
/** The place of a Secret. */
export const SECRET = "/registry/management/core/secrets/p-a/password";

export type OpenRingOptions = {
  readonly serverSecrets?: readonly [Uint8Array, ...Uint8Array[]];
  readonly isShared?: boolean;
  readonly clock?: Clock;
};

export const openRing = (
  storage: Storage,
  { serverSecrets = [SERVER_KEY], isShared = true, clock = systemRuntime.clock }: OpenRingOptions = {},
): Promise<StoredKeyRing> => openKeyRing({ storage, serverSecrets, isShared, clock, random, onError: () => {} });

/** `unreadable` gets the keys of what could not be opened. */
export function sealedOver(storage: Storage, ring: StoredKeyRing) {
  const unreadable: string[] = [];
  const opened = createSealedStorage({
    storage,
    ring,
    random,
    placeholder: (_, fault) => Buffer.from(fault),
    onUnreadable: (key) => unreadable.push(key),
  });
  return { storage: opened, unreadable };
}

export const textOf = (value: Uint8Array | undefined): string => Buffer.from(value ?? []).toString();
