// The stable surface of the mechanism; `@postern/kubernetes` has a server made with it. Everything else in this package may change with any release.

export type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
export { ApiError } from "@postern/apimachinery/meta/api-error";
export type { GroupVersionKind } from "@postern/apimachinery/meta/group-version";
export type { KubeObject, ObjectMeta } from "@postern/apimachinery/meta/object-meta";
export { type Field, type Infer, s } from "@postern/apimachinery/schema/builder";
export { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
export type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
export { type FieldError, invalidError } from "@postern/apimachinery/validation/field-error";
export type { Authentication, Authenticator, Credential } from "./authentication/authenticator.ts";
export { createBearerTokenAuthenticator } from "./authentication/bearer-token-authenticator.ts";
export { type TokenAuthenticator, unionTokenAuthenticator } from "./authentication/token-authenticator.ts";
export { createTokenFileAuthenticator } from "./authentication/token-file-authenticator.ts";
export type { UserInfo } from "./authentication/user-info.ts";
export type { AuthorizationAttributes, AuthorizationDecision, Authorizer } from "./authorization/authorizer.ts";
export type { CachedObject } from "./cache/cached-object.ts";
export type { RequestContext } from "./context/request-context.ts";
export { createLogger } from "./logging/create-logger.ts";
export type { Logger } from "./logging/logger.ts";
export type { AdmissionPlugin } from "./registry/admission-plugin.ts";
export {
  defineResource,
  type PrinterColumn,
  type ResourceDefinition,
  type ResourceVerb,
  type Subresource,
} from "./registry/resource-definition.ts";
export type { InstalledResource, ResourceRegistry } from "./registry/resource-registry.ts";
export type { ResourceStorage } from "./registry/resource-storage.ts";
export type { SealedFields, Strategy } from "./registry/strategy.ts";
export type { Clock, Random, Runtime, Scheduler } from "./runtime/clock.ts";
export { systemRuntime } from "./runtime/system-runtime.ts";
export { createMemoryStorage } from "./storage/memory/memory-storage.ts";
export type {
  ListOptions,
  ListResult,
  Revision,
  Storage,
  StorageEvent,
  StoredEntry,
  WatchObserver,
} from "./storage/storage.ts";
export {
  FutureRevisionError,
  KeyExistsError,
  RevisionCompactedError,
  RevisionConflictError,
  StorageFullError,
  StorageUnavailableError,
  ValueTooLargeError,
} from "./storage/storage-errors.ts";
export type { TlsCredentials } from "./transport/tls/secure-server.ts";
export type { VersionInfo } from "./version/version-info.ts";
export {
  createSelfSignedCertificate,
  type SelfSignedCertificate,
  type SelfSignedCertificateOptions,
} from "./x509/self-signed-certificate.ts";
