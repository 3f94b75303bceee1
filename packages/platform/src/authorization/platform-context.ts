// What the parts of the platform are made with. The composition root builds it once; nothing here is global.

import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import type { AccessKeyIndex } from "../access-keys/access-key-index.ts";
import type { Configuration } from "../config/configuration.ts";
import type { Directory } from "../directory/directory.ts";
import type { PlatformNames } from "../platform-names.ts";

export type PlatformContext = {
  readonly names: PlatformNames;
  readonly configuration: Configuration;
  readonly runtime: Runtime;
  readonly keys: AccessKeyIndex;
  readonly directory: Directory;
  /** The one decision point. */
  readonly authorizer: Authorizer;
};
