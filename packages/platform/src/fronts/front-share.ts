// How many fronts share the limits of the server: in memory that their threads share.

import type { ThreadShare } from "../foundation/config/thread-share.ts";

export type FrontShare = SharedArrayBuffer;

export function createFrontShare(fronts: number): FrontShare {
  const share = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  setFronts(share, fronts);
  return share;
}

export const setFronts = (share: FrontShare, fronts: number): void =>
  void Atomics.store(new Int32Array(share), 0, fronts);

export function threadShareOf(share: FrontShare): ThreadShare {
  const cells = new Int32Array(share);
  return {
    get threads() {
      return Atomics.load(cells, 0);
    },
  };
}
