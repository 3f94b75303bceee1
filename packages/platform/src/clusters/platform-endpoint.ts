// The port for the address at which clients reach the platform.

export type PlatformEndpoint = {
  /** Such as `https://platform.example.com:8443`, without a slash at the end. Known once the server listens. */
  url(): string;
  /** PEM of what verifies its certificate; undefined where public roots do. */
  readonly certificateAuthorityPem: string | undefined;
};
