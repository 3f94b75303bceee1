// The error catalogue: every refusal is an ApiError that knows its Status.
// Source: k8s.io/apimachinery/pkg/api/errors/errors.go

import { quoteGo } from "../text/go-quote.ts";
import { redactCredentials } from "../text/redact-credentials.ts";
import { type FieldError, quoteShortened } from "../validation/field-error.ts";
import { type GroupKind, type GroupResource, qualifiedName } from "./group-version.ts";
import type { ListMeta } from "./object-meta.ts";
import type { Status, StatusCause, StatusDetails, StatusReason } from "./status.ts";

type ApiErrorInit = {
  readonly code: number;
  /** Absent where upstream answers a bare 500, which clients print differently. */
  readonly reason?: StatusReason;
  readonly message: string;
  readonly details?: StatusDetails;
  readonly metadata?: ListMeta;
  readonly cause?: unknown;
};

/**
 * A refusal with its HTTP code, reason and details. Thrown where it is known, turned into a Status at the edge. Whatever it quotes, it shows
 * no credential.
 */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: number;
  readonly reason: StatusReason;
  readonly details: StatusDetails | undefined;
  readonly metadata: ListMeta;

  constructor({ code, reason = "", message, details, metadata = {}, cause }: ApiErrorInit) {
    super(redactCredentials(message), cause === undefined ? undefined : { cause });
    this.code = code;
    this.reason = reason;
    this.details = details === undefined ? undefined : safeDetails(details);
    this.metadata = metadata;
  }

  /** The response body. `details: {}` is kept when given, since upstream prints it for some refusals. */
  toStatus(): Status {
    return {
      kind: "Status",
      apiVersion: "v1",
      metadata: this.metadata,
      status: "Failure",
      message: this.message,
      ...(this.reason === "" ? {} : { reason: this.reason }),
      ...(this.details === undefined ? {} : { details: this.details }),
      code: this.code,
    };
  }
}

/** The same members in the same order, which is the one of their texts. */
const safeDetails = (details: StatusDetails): StatusDetails => ({
  ...details,
  ...(details.name === undefined ? {} : { name: redactCredentials(details.name) }),
  ...(details.causes === undefined ? {} : { causes: details.causes.map(safeCause) }),
});

const safeCause = (cause: StatusCause): StatusCause => ({
  ...cause,
  ...(cause.message === undefined ? {} : { message: redactCredentials(cause.message) }),
  ...(cause.field === undefined ? {} : { field: redactCredentials(cause.field) }),
});

export const isApiError = (error: unknown, reason?: StatusReason): error is ApiError =>
  error instanceof ApiError && (reason === undefined || error.reason === reason);

const detailsOf = (group: string, kind: string, name: string): StatusDetails => ({
  ...(name === "" ? {} : { name }),
  ...(group === "" ? {} : { group }),
  ...(kind === "" ? {} : { kind }),
});

export const notFoundError = ({ group, resource }: GroupResource, name: string): ApiError =>
  new ApiError({
    code: 404,
    reason: "NotFound",
    message: `${qualifiedName(resource, group)} ${quoteGo(name)} not found`,
    details: detailsOf(group, resource, name),
  });

/** A path that no resource answers under a group that exists. */
export const resourceNotFoundError = (): ApiError =>
  new ApiError({
    code: 404,
    reason: "NotFound",
    message: "the server could not find the requested resource",
    details: {},
  });

export const alreadyExistsError = ({ group, resource }: GroupResource, name: string): ApiError =>
  new ApiError({
    code: 409,
    reason: "AlreadyExists",
    message: `${qualifiedName(resource, group)} ${quoteGo(name)} already exists`,
    details: detailsOf(group, resource, name),
  });

/** `kind` is the plural resource for a stale version and the Kind for delete preconditions, as upstream has it. */
export const conflictError = ({ group, resource }: GroupResource, name: string, why: string): ApiError =>
  new ApiError({
    code: 409,
    reason: "Conflict",
    message: `Operation cannot be fulfilled on ${qualifiedName(resource, group)} ${quoteGo(name)}: ${why}`,
    details: detailsOf(group, resource, name),
  });

export const STALE_RESOURCE_VERSION =
  "the object has been modified; please apply your changes to the latest version and try again";

/** A body of three megabytes can have a million errors, and only the first few are read. */
const MAX_CAUSES = 100;

/** 422 with one cause per error; exact duplicates are named once in the message. */
export function invalidObjectError({ group, kind }: GroupKind, name: string, errors: readonly FieldError[]): ApiError {
  const shown = errors.slice(0, MAX_CAUSES);
  const texts = [...new Set(shown.map(({ field, message }) => `${field}: ${message}`))];
  if (errors.length > shown.length) texts.push(`and ${errors.length - shown.length} more`);
  const what = texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`;
  const subject = `${qualifiedName(kind, group)} ${quoteShortened(name)}`;
  return new ApiError({
    code: 422,
    reason: "Invalid",
    message: texts.length === 0 ? `${subject} is invalid` : `${subject} is invalid: ${what}`,
    details: {
      ...detailsOf(group, kind, name),
      ...(errors.length === 0
        ? {}
        : { causes: shown.map(({ type, message, field }) => ({ reason: type, message, field })) }),
    },
  });
}

export const badRequestError = (message: string, cause?: unknown): ApiError =>
  new ApiError({ code: 400, reason: "BadRequest", message, cause });

export const unauthorizedError = (): ApiError =>
  new ApiError({ code: 401, reason: "Unauthorized", message: "Unauthorized" });

export const forbiddenRequestError = ({ group, resource }: GroupResource, name: string, why: string): ApiError =>
  new ApiError({
    code: 403,
    reason: "Forbidden",
    message: `${qualifiedName(resource, group)}${name === "" ? "" : ` ${quoteGo(name)}`} is forbidden: ${why}`,
    details: detailsOf(group, resource, name),
  });

/** A path outside the resource tree that the caller may not read. */
export const forbiddenPathError = (why: string): ApiError =>
  new ApiError({ code: 403, reason: "Forbidden", message: `forbidden: ${why}`, details: {} });

export const methodNotAllowedError = (): ApiError =>
  new ApiError({
    code: 405,
    reason: "MethodNotAllowed",
    message: "the server does not allow this method on the requested resource",
    details: {},
  });

/** `verb` in Kubernetes' terms: create, update, delete, … */
export const verbNotSupportedError = ({ group, resource }: GroupResource, verb: string): ApiError =>
  new ApiError({
    code: 405,
    reason: "MethodNotAllowed",
    message: `${verb} is not supported on resources of kind ${quoteGo(qualifiedName(resource, group))}`,
    details: detailsOf(group, resource, ""),
  });

export const notAcceptableError = (accepted: readonly string[]): ApiError =>
  new ApiError({
    code: 406,
    reason: "NotAcceptable",
    message: `only the following media types are accepted: ${accepted.join(", ")}`,
  });

export const unsupportedMediaTypeError = (accepted: readonly string[]): ApiError =>
  new ApiError({
    code: 415,
    reason: "UnsupportedMediaType",
    message: `the body of the request was in an unknown format - accepted media types include: ${accepted.join(", ")}`,
  });

export const requestEntityTooLargeError = (why: string): ApiError =>
  new ApiError({ code: 413, reason: "RequestEntityTooLarge", message: `Request entity too large: ${why}` });

/** `continueToken` allows the client to continue a list inconsistently. */
export const expiredError = (message: string, continueToken?: string): ApiError =>
  new ApiError({
    code: 410,
    reason: "Expired",
    message,
    ...(continueToken === undefined ? {} : { metadata: { continue: continueToken } }),
  });

export const tooManyRequestsError = (message: string, retryAfterSeconds: number): ApiError =>
  new ApiError({ code: 429, reason: "TooManyRequests", message, details: { retryAfterSeconds } });

export const timeoutError = (why: string): ApiError =>
  new ApiError({ code: 504, reason: "Timeout", message: `Timeout: ${why}`, details: {} });

export const tooLargeResourceVersionError = (requested: number | bigint, current: number | bigint): ApiError =>
  new ApiError({
    code: 504,
    reason: "Timeout",
    message: `Timeout: Too large resource version: ${requested}, current: ${current}`,
    details: {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
      retryAfterSeconds: 1,
    },
  });

export const serviceUnavailableError = (message: string, retryAfterSeconds = 1, cause?: unknown): ApiError =>
  new ApiError({ code: 503, reason: "ServiceUnavailable", message, details: { retryAfterSeconds }, cause });

/** `message` is shown to the client: it must not carry inner detail. The real fault goes into `cause`, for the log. */
export const internalError = (message: string, cause?: unknown): ApiError =>
  new ApiError({
    code: 500,
    reason: "InternalError",
    message: `Internal error occurred: ${message}`,
    details: { causes: [{ message }] },
    cause,
  });

/** A 500 without a reason, where upstream returns an untyped error that clients see verbatim. */
export const untypedError = (message: string, cause?: unknown): ApiError => new ApiError({ code: 500, message, cause });
