// A server that requests go to, and the credential of the platform for it. Objects name it, never a request.

export type UpstreamTarget = {
  /** Base URL, http or https. A path in it comes before the path of every request. */
  readonly server: string;
  /** PEM bundle that is trusted instead of the public roots. */
  readonly certificateAuthorityPem?: string;
  /** The name that the server's certificate is checked against instead of the host of the URL. */
  readonly tlsServerName?: string;
  /** Only if the target was registered with it. */
  readonly insecureSkipTlsVerify?: boolean;
  readonly credential: UpstreamCredential;
};

/** The target's own, with the right to impersonate. Never that of a caller. */
export type UpstreamCredential = {
  readonly bearerToken?: string;
  readonly clientCertificate?: { readonly certificatePem: string; readonly privateKeyPem: string };
};
