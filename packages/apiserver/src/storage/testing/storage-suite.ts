// Behaviour of every store, whatever it is made of: each implementation of the port runs this one suite, and so does the watch cache.
// Revisions grow and may have holes: the etcd store passes one of its own where its watch is late.
// Source of the idea: k8s.io/apiserver/pkg/storage/testing/store_tests.go

import { afterEach, beforeEach, describe } from "vitest";
import type { Revision, Storage } from "../storage.ts";
import { describeLifecycle } from "./lifecycle-cases.ts";
import { describeLists } from "./list-cases.ts";
import { describeRandomHistory } from "./random-history-case.ts";
import { describeWatches } from "./watch-cases.ts";
import { describeWrites } from "./write-cases.ts";

export type StorageFixture = {
  readonly storage: Storage;
  /** Opens the same data again once `storage` is disposed; absent where nothing outlives it. */
  readonly reopen?: () => Promise<Storage>;
  /** Removes what the store leaves behind. */
  readonly cleanUp?: () => Promise<void>;
};

export type StorageSuiteOptions = {
  /** Makes a value of a text, where the store takes no others; UTF-8 when absent. */
  readonly value?: (text: string) => Uint8Array;
  /** Why a group of cases cannot hold here: the reason is printed with the skipped cases. */
  readonly skip?: {
    readonly opaqueValues?: string;
    /** A watch whose history has been compacted, and one on a store that has closed. */
    readonly watchErrors?: string;
  };
};

/** Context of the cases; `storage` changes with every test. */
export type SuiteContext = {
  readonly storage: Storage;
  /** The revision at which the case found the store: only the first case of all has one that was never used. */
  readonly start: Revision;
  readonly fixture: StorageFixture;
  readonly value: (text: string) => Uint8Array;
  readonly skip: NonNullable<StorageSuiteOptions["skip"]>;
};

/** All keys of the suite lie under this prefix, as those of one resource do. */
export const ROOT = "/registry/suite/core/things/";

export function describeStorage(
  name: string,
  open: () => Promise<StorageFixture>,
  options: StorageSuiteOptions = {},
): void {
  describe(name, () => {
    let fixture: StorageFixture;
    let start: Revision;
    const context: SuiteContext = {
      get storage() {
        return fixture.storage;
      },
      get start() {
        return start;
      },
      get fixture() {
        return fixture;
      },
      value: options.value ?? ((text) => Buffer.from(text)),
      skip: options.skip ?? {},
    };
    beforeEach(async () => {
      fixture = await open();
      start = await fixture.storage.currentRevision();
    });
    afterEach(async () => {
      await fixture.storage[Symbol.asyncDispose]();
      await fixture.cleanUp?.();
    });

    describeWrites(context);
    describeLists(context);
    describeWatches(context);
    describeRandomHistory(context);
    describeLifecycle(context);
  });
}

/** The name of a case, with the reason why it is skipped, if it is. */
export function caseName(name: string, skipped: string | undefined): string {
  return skipped === undefined ? name : `${name} (skipped: ${skipped})`;
}
