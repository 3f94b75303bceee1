// The error of a failed gRPC call. Status codes: https://grpc.io/docs/guides/status-codes/

export const grpcStatus = {
  ok: 0,
  cancelled: 1,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  permissionDenied: 7,
  resourceExhausted: 8,
  outOfRange: 11,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const;

export class GrpcError extends Error {
  override readonly name = "GrpcError";
  /** One of `grpcStatus`, or another code that the server has sent. */
  readonly code: number;
  /** The server's message, or what was wrong with the connection. */
  readonly details: string;
  /** The server has not seen the call, or says that it did not start it. */
  readonly isUnsent: boolean;

  constructor(code: number, details: string, options: { readonly isUnsent?: boolean; readonly cause?: unknown } = {}) {
    super(`gRPC status ${code}: ${details}`, { cause: options.cause });
    this.code = code;
    this.details = details;
    this.isUnsent = options.isUnsent ?? false;
  }
}

/** From an intermediary that does not speak gRPC. Source: grpc/doc/http-grpc-status-mapping.md */
export function errorOfHttpStatus(status: number): GrpcError {
  const details = `answered with HTTP status ${status}`;
  switch (status) {
    case 401:
      return new GrpcError(grpcStatus.unauthenticated, details);
    case 403:
      return new GrpcError(grpcStatus.permissionDenied, details);
    case 404:
      return new GrpcError(grpcStatus.unimplemented, details);
    case 400:
      return new GrpcError(grpcStatus.internal, details);
    case 429:
    case 502:
    case 503:
    case 504:
      return new GrpcError(grpcStatus.unavailable, details);
    default:
      return new GrpcError(grpcStatus.unknown, details);
  }
}

/** Non-ASCII texts are percent-encoded. */
export function decodeMessage(text: string | string[] | undefined): string {
  const message = String(text ?? "");
  try {
    return decodeURIComponent(message);
  } catch {
    return message;
  }
}

export const unsent = (details: string, cause?: unknown): GrpcError =>
  new GrpcError(grpcStatus.unavailable, details, { isUnsent: true, cause });

export const toGrpcError = (error: unknown): GrpcError =>
  error instanceof GrpcError ? error : new GrpcError(grpcStatus.internal, messageOf(error), { cause: error });

export function messageOf(error: unknown): string {
  // A name with several addresses fails with one error per address, and without a message of its own.
  if (error instanceof AggregateError && error.message === "") return error.errors.map(messageOf).join(", ");
  return error instanceof Error ? error.message : String(error);
}
