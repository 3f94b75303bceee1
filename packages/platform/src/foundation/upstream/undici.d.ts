// The client alone: the whole of undici takes 70 ms and 10 MB more to load, for a fetch and caches that nothing here uses.
declare module "undici/lib/dispatcher/client.js" {
  // biome-ignore lint/style/noDefaultExport: it is a CommonJS module
  export { Client as default } from "undici";
}

declare module "undici/lib/core/symbols.js" {
  const symbols: { readonly kParser: unique symbol };
  // biome-ignore lint/style/noDefaultExport: it is a CommonJS module
  export default symbols;
}
