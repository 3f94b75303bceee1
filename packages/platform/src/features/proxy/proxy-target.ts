// The target of proxied requests, and the platform's credential for it. It comes from the registry, never from a request.

export type ProxyTarget = {
  /** Base URL, http or https. A path in it comes before the path of every request. */
  readonly server: string;
  /** PEM bundle that is trusted instead of the public roots. */
  readonly certificateAuthorityPem?: string;
  /** The name that the server's certificate is checked against instead of the host of the URL. */
  readonly tlsServerName?: string;
  /** Only if the target was registered with it. */
  readonly insecureSkipTlsVerify?: boolean;
  readonly credential: ProxyCredential;
};

/** The target's own, with the right to impersonate. Never that of a caller. */
export type ProxyCredential = {
  readonly bearerToken?: string;
  readonly clientCertificate?: { readonly certificatePem: string; readonly privateKeyPem: string };
};
