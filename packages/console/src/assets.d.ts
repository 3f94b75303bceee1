// Types of imports that are not code.

declare module "*.css";
declare module "*.svg" {
  export const address: string;
  // biome-ignore lint/style/noDefaultExport: the build gives addresses of files so
  export default address;
}
