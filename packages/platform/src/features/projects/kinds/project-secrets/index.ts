// ProjectSecrets: bytes by key in a project namespace.

import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { type KeyedSecretsDeps, keyedSecrets } from "../keyed-secret.ts";

export const projectSecrets = (deps: KeyedSecretsDeps): ResourceDefinition =>
  keyedSecrets(deps, { kind: "ProjectSecret" });
