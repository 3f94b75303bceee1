// Makes request contexts of the platform's callers, for tests of what lies behind the handler chain.

import type { Credential } from "@postern/apiserver/authentication/authenticator";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { createTestContext, type TestRequest } from "@postern/apiserver/testing/test-context";

export type PlatformTestRequest = TestRequest & { readonly credential?: Credential | undefined };

/** A context of `user`, who came in with `credential`. */
export function createRequestContext({ credential, ...request }: PlatformTestRequest): RequestContext {
  return createTestContext(request).with({ credential });
}

/** A user of the platform as authentication makes it. */
export const testUser = (name: string, groups: readonly string[] = []): UserInfo => ({
  name,
  groups: [...groups, "system:authenticated", "postern:authenticated", `postern:user:${name}`],
});
