// SharedSecrets: bytes by key in a namespace of the platform.

import type { PlatformNames } from "@postern/api/platform-names";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { keyedSecrets } from "../keyed-secret.ts";

export const sharedSecrets = (names: Pick<PlatformNames, "managementGroup">): ResourceDefinition =>
  keyedSecrets(names, "SharedSecret");
