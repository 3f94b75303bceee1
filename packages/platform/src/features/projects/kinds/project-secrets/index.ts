// ProjectSecrets: bytes by key in a project namespace.

import type { PlatformNames } from "@postern/api/platform-names";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { keyedSecrets } from "../keyed-secret.ts";

export const projectSecrets = (names: Pick<PlatformNames, "managementGroup">): ResourceDefinition =>
  keyedSecrets(names, "ProjectSecret");
