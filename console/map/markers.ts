/** The values of a marker: x and y in pixels, direction in radians (or none), kind, emphasis. */
export const FLOATS = 5
export const NO_DIRECTION = -100
/** Added to the kind of a marker: it is a dot in the colour of its state. */
export const DOT = 3

const VERTEX = `#version 300 es
in vec2 place;
in float direction;
in float kind;
in float emphasis;
uniform vec2 screen;
uniform float ratio;
out float vDirection;
out float vKind;
out float vEmphasis;
void main() {
  vec2 clip = place / screen * 2.0 - 1.0;
  gl_Position = vec4(clip.x, -clip.y, 0.0, 1.0);
  gl_PointSize = (kind > 2.5 ? 9.0 : 34.0) * ratio;
  vDirection = direction;
  vKind = kind;
  vEmphasis = emphasis;
}`

// Shape shows the state as well as colour: an arrow or a drop moves, a disc stands still, a ring is silent.
const FRAGMENT = `#version 300 es
precision mediump float;
in float vDirection;
in float vKind;
in float vEmphasis;
uniform vec3 colors[3];
uniform vec3 halo;
uniform vec3 accent;
uniform float dotPx;
out vec4 color;

float disc(vec2 p, float r) { return length(p) - r; }
float arrow(vec2 p) {
  // A dart: its nose points north, with a notch at the back.
  p.x = abs(p.x);
  vec2 nose = vec2(0.0, -9.5);
  vec2 wing = vec2(7.0, 7.5);
  vec2 along = normalize(wing - nose);
  float side = dot(p - nose, vec2(-along.y, along.x) * -1.0);
  vec2 notch = normalize(vec2(7.0, 3.5));
  float back = dot(p - vec2(0.0, 4.0), vec2(-notch.y, notch.x));
  return max(side, back);
}
void main() {
  int kind = int(vKind + 0.5);
  if (kind > 2) {
    float away = length(gl_PointCoord - 0.5) * 9.0;
    vec4 around = vec4(halo, 1.0) * 0.5 * (1.0 - smoothstep(dotPx + 0.2, dotPx + 1.2, away));
    color = mix(around, vec4(colors[kind - 3], 1.0), 0.9 * (1.0 - smoothstep(dotPx - 0.5, dotPx + 0.5, away)));
    if (color.a < 0.01) discard;
    return;
  }
  vec2 p = (gl_PointCoord - 0.5) * 34.0;
  float edge;
  if (kind == 0 && vDirection > -50.0) {
    float s = sin(vDirection), c = cos(vDirection);
    edge = arrow(vec2(c * p.x + s * p.y, -s * p.x + c * p.y));
  } else if (kind == 0) edge = disc(p, 7.0);
  else if (kind == 1) edge = disc(p, 5.5);
  else edge = abs(disc(p, 5.0)) - 1.6;
  float body = 1.0 - smoothstep(-0.6, 0.6, edge);
  float around = 1.0 - smoothstep(1.2, 2.4, edge);
  vec4 drawn = vec4(halo, 1.0) * around * (kind == 2 ? 0.75 : 1.0);
  drawn = mix(drawn, vec4(colors[kind], 1.0), body);
  if (vEmphasis > 0.5) {
    float ring = 1.0 - smoothstep(0.6, 1.6, abs(length(p) - 14.0) - (vEmphasis > 1.5 ? 0.9 : 0.2));
    drawn = mix(drawn, vec4(accent, 1.0), ring);
  }
  if (drawn.a < 0.01) discard;
  color = drawn;
}`

/** The radius of a dot, smaller for each doubling of their number, so that what lies below stays readable. */
const dotPxOf = (count: number) => Math.max(1.2, 2.8 - 0.45 * Math.log2(Math.max(1, count / 800)))

type Rgb = readonly [number, number, number]
export interface MarkerColors {
  states: readonly [Rgb, Rgb, Rgb]
  halo: Rgb
  accent: Rgb
}

/** The names of drivers without a graphics card. */
const SOFTWARE = /swiftshader|llvmpipe|softpipe|software|basic render/i

/** Chrome reveals the driver only by this extension; Firefox logs a warning when it is requested. */
function drawsInSoftware(gl: WebGL2RenderingContext): boolean {
  const renderer = String(gl.getParameter(gl.RENDERER))
  const info = renderer.startsWith('WebKit') ? gl.getExtension('WEBGL_debug_renderer_info') : null
  return SOFTWARE.test(info ? String(gl.getParameter(info.UNMASKED_RENDERER_WEBGL)) : renderer)
}

/** Draws thousands of markers in one call. Null if the browser has no WebGL 2. */
export function createMarkers(canvas: HTMLCanvasElement) {
  const context = canvas.getContext('webgl2', { premultipliedAlpha: true, antialias: false })
  if (!context) return null
  const gl = context
  let program: WebGLProgram
  let buffer: WebGLBuffer
  let bytes = 0

  function open() {
    program = gl.createProgram() as WebGLProgram
    for (const [type, source] of [
      [gl.VERTEX_SHADER, VERTEX],
      [gl.FRAGMENT_SHADER, FRAGMENT],
    ] as const) {
      const shader = gl.createShader(type) as WebGLShader
      gl.shaderSource(shader, source)
      gl.compileShader(shader)
      gl.attachShader(program, shader)
    }
    gl.linkProgram(program)
    // biome-ignore lint/correctness/useHookAtTopLevel: WebGL's, not React's
    gl.useProgram(program)
    if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) {
      throw new Error(`The markers cannot be drawn: ${gl.getProgramInfoLog(program)}`)
    }
    buffer = gl.createBuffer() as WebGLBuffer
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer)
    bytes = 0
    let at = 0
    for (const [name, size] of [
      ['place', 2],
      ['direction', 1],
      ['kind', 1],
      ['emphasis', 1],
    ] as const) {
      const location = gl.getAttribLocation(program, name)
      gl.enableVertexAttribArray(location)
      gl.vertexAttribPointer(location, size, gl.FLOAT, false, FLOATS * 4, at * 4)
      at += size
    }
    gl.enable(gl.BLEND)
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA)
  }
  open()
  canvas.addEventListener('webglcontextlost', event => event.preventDefault())
  canvas.addEventListener('webglcontextrestored', open)

  return {
    isSoftware: drawsInSoftware(gl),
    draw(
      markers: Float32Array,
      count: number,
      width: number,
      height: number,
      ratio: number,
      colors: MarkerColors,
    ) {
      if (gl.isContextLost()) return
      gl.viewport(0, 0, canvas.width, canvas.height)
      gl.clearColor(0, 0, 0, 0)
      gl.clear(gl.COLOR_BUFFER_BIT)
      if (count === 0) return
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer)
      if (markers.byteLength > bytes) {
        bytes = markers.byteLength
        gl.bufferData(gl.ARRAY_BUFFER, bytes, gl.DYNAMIC_DRAW)
      }
      gl.bufferSubData(gl.ARRAY_BUFFER, 0, markers, 0, count * FLOATS)
      gl.uniform2f(gl.getUniformLocation(program, 'screen'), width, height)
      gl.uniform1f(gl.getUniformLocation(program, 'ratio'), ratio)
      gl.uniform3fv(gl.getUniformLocation(program, 'colors'), colors.states.flat())
      gl.uniform3fv(gl.getUniformLocation(program, 'halo'), [...colors.halo])
      gl.uniform3fv(gl.getUniformLocation(program, 'accent'), [...colors.accent])
      gl.uniform1f(gl.getUniformLocation(program, 'dotPx'), dotPxOf(count))
      gl.drawArrays(gl.POINTS, 0, count)
    },
  }
}
