// The port for lookup of access keys: by the secret of a request, or by id, owner and parent.

import type { StoredAmount } from "@postern/apiserver/cache/stored-usage";
import type { AccessKeyOwner } from "../access-key-owner.ts";
import type { AccessKeyState } from "../access-key-state.ts";
import type { KeptAccessKey } from "../secrets/access-key-secrets.ts";
import type { KeyRefusal } from "../validity/ready-reasons.ts";

export type AccessKeyIndex = {
  /** The record of a presented key, whether or not it is valid now; undefined if there is none. O(1). */
  find(presentedKey: string): AccessKeyState | undefined;
  /**
   * Resolves when the presented key can be looked up without delaying other requests; undefined if it can now. It cannot soon after a start (see
   * whenRead), and if memory does not know a value of our form that another server may just have issued. `address` is that of the peer: guesses from
   * one address wait in places of their own.
   */
  whenFound(presentedKey: string, address?: string): Promise<void> | undefined;
  /**
   * Version of the data that values are found by. A value that was found as `key` at a version, is found as that again while the version is the
   * same and `byId` gives the same object for the handle of the key. Undefined while the keys are still being read.
   */
  readonly valueVersion: number | undefined;
  /** Whether a text is a value that a client chose for a key. While the keys are still being read, whether it may be. For texts that are logged. */
  isChosenValue(text: string): boolean;
  /** False where no client has chosen a value, so that no text needs to be looked at. */
  mayHaveChosenValues(): boolean;
  /** By public handle, as credentials carry it. */
  byId(id: string): AccessKeyState | undefined;
  byName(name: string): AccessKeyState | undefined;
  byUid(uid: string): AccessKeyState | undefined;
  /** Kept form of the values that a key has and had. */
  valuesOf(name: string): readonly KeptAccessKey[];
  ownedBy(owner: AccessKeyOwner): readonly AccessKeyState[];
  /** The number and stored bytes of the keys of an owner, also of those that have ended. */
  usageOf(owner: AccessKeyOwner): StoredAmount;
  childrenOf(uid: string): readonly AccessKeyState[];
  /** Those whose scope names the project. */
  scopedTo(project: string): readonly AccessKeyState[];
  /**
   * Why a key is refused now: disabled, expired, its owner is locked or gone, or an ancestor is; undefined when it is good.
   * For the audit log only.
   */
  refusalOf(key: AccessKeyState): string | undefined;
  /** The same, with a word for it that machines tell apart. */
  stateOf(key: AccessKeyState): KeyRefusal | undefined;
  /** Resolves when every record has been read, after a start: before that, operations that need more than one key load all of them. */
  whenRead(): Promise<void>;
  /** False soon after a start: see whenRead. */
  readonly isRead: boolean;
  /** Calls back once when the key stops being good, or its restrictions change, until disposed. */
  onRevoked(id: string, listener: () => void): Disposable;
};
