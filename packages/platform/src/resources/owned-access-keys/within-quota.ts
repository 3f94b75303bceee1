// Ends the turn that a write has taken among those of one owner with the write.

import type { ResourceStorage } from "@postern/apiserver/registry/resource-storage";
import type { KeyQuota } from "../../access-keys/key-quota.ts";

export const withinQuota = (storage: Required<ResourceStorage>, quota: Pick<KeyQuota, "during">) => ({
  ...storage,
  create: (...call: Parameters<typeof storage.create>) => quota.during(call[0], () => storage.create(...call)),
  update: (...call: Parameters<typeof storage.update>) => quota.during(call[0], () => storage.update(...call)),
});
