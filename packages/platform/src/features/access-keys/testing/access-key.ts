// An access key as the index finds it, for tests to change in what they are about.

import type { AccessKeyState } from "../access-key-state.ts";

export const accessKey = (parts: Partial<AccessKeyState> = {}): AccessKeyState => ({
  name: "key",
  uid: "key-uid",
  id: "k234567abc",
  owner: { kind: "user", name: "alice" },
  groups: [],
  type: "",
  restrictions: undefined,
  sourceRanges: [],
  audiences: [],
  confirmation: "",
  disabled: false,
  expiresAt: undefined,
  parentUids: [],
  revision: 1,
  serial: 0,
  origins: [],
  childrenFrom: 0,
  ...parts,
});
