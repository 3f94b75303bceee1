// Dependencies of the parts of the platform, built once by the composition root.

import type { PlatformNames } from "@postern/api/platform-names";
import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import type { Configuration } from "../../foundation/config/configuration.ts";
import type { AccessKeyIndex } from "../access-keys/access-key-index.ts";
import type { Directory } from "../directory/directory.ts";

export type PlatformContext = {
  readonly names: PlatformNames;
  readonly configuration: Configuration;
  readonly runtime: Runtime;
  readonly keys: AccessKeyIndex;
  readonly directory: Directory;
  /** The one decision point. */
  readonly authorizer: Authorizer;
};
