// SharedSecrets: bytes by key in a namespace of the platform.

import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { type KeyedSecretsDeps, keyedSecrets } from "../keyed-secret.ts";

export const sharedSecrets = (deps: KeyedSecretsDeps): ResourceDefinition =>
  keyedSecrets(deps, { kind: "SharedSecret" });
