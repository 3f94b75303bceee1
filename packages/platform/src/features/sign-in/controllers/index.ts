// Controllers of sign-in.

import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import type { Foundation } from "../../../foundation/foundation.ts";
import { createRecordReaper } from "../../../foundation/store/expiring-records.ts";
import type { AccessKeys } from "../../access-keys/feature.ts";
import type { KeyMint } from "../../access-keys/kinds/mint-keys.ts";
import type { SignIn } from "../feature.ts";
import { createIdentityProviderController } from "./identity-provider-controller.ts";
import { createLoginSessions } from "./login-sessions.ts";

export const signInControllers = (
  port: ControllerPort,
  { own }: Foundation,
  { signIn, keys, mint }: { readonly signIn: SignIn; readonly keys: AccessKeys; readonly mint: KeyMint },
): readonly Controller[] => [
  createRecordReaper(port, signIn.records),
  createIdentityProviderController(port, own("IdentityProvider"), signIn),
  createLoginSessions({
    port,
    accessKeys: own("OwnedAccessKey"),
    ...signIn,
    secrets: keys.secrets,
    revoke: mint.revoke,
  }),
];
