// The visibility of resources in tests that are about something else.

import type { ObjectVisibility } from "@postern/apiserver/registry/visibility";

export const SEES_EVERYTHING: ObjectVisibility = {
  visibleTo: () => "all",
  follow: () => ({ visible: "all", holds: () => true, [Symbol.dispose]() {} }),
};
