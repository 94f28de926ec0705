// y (+)= Σ over the rows of a piece of x, which are parts: of their first numbers at one place, of those behind them at another.
// Several pieces, one for each row of the grid.
struct Piece { from_: u32, rows: u32, width: u32, first: u32, at: u32, add: u32, rest_at: u32, rest_add: u32 }
struct Sizes { pieces: array<Piece, 8> }
@group(0) @binding(0) var<uniform> p: Sizes;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(256)
fn of_parts(@builtin(workgroup_id) g: vec3<u32>, @builtin(local_invocation_index) t: u32, @builtin(num_workgroups) grid: vec3<u32>) {
    let piece = p.pieces[g.y];
    for (var i = g.x * 256u + t; i < piece.width; i += grid.x * 256u) {
        var s = 0.0;
        for (var row = 0u; row < piece.rows; row++) { s += x[piece.from_ + row * piece.width + i]; }
        let is_first = i < piece.first;
        let to = select(piece.rest_at + i - piece.first, piece.at + i, is_first);
        if select(piece.rest_add, piece.add, is_first) == 1u { y[to] += s; } else { y[to] = s; }
    }
}
