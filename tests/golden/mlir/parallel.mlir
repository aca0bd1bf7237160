!f64x2u1 = memref<?x?xf64, strided<[?, 1], offset: ?>>
!f64x0 = memref<f64, strided<[], offset: ?>>
func.func @parallel(%x: !f64x2u1, %y: !f64x2u1, %total: !f64x0) -> i64 {
  %c0 = arith.constant 0 : index
  %x_n0 = memref.dim %x, %c0 : !f64x2u1
  %y_n0 = memref.dim %y, %c0 : !f64x2u1
  %c8 = arith.constant 8 : index
  %x_base, %x_offset, %x_n0_2, %x_n1, %x_s0, %x_s1 = memref.extract_strided_metadata %x : !f64x2u1 -> memref<f64>, index, index, index, index, index
  %1 = "memref.extract_aligned_pointer_as_index"(%x) : (!f64x2u1) -> index
  %2 = arith.muli %x_offset, %c8 : index
  %3 = arith.addi %1, %2 : index
  %c1 = arith.constant 1 : index
  %4 = arith.subi %x_n0_2, %c1 : index
  %5 = arith.muli %4, %x_s0 : index
  %6 = arith.muli %5, %c8 : index
  %7 = arith.minsi %6, %c0 : index
  %8 = arith.maxsi %6, %c0 : index
  %9 = arith.addi %3, %7 : index
  %10 = arith.addi %3, %8 : index
  %11 = arith.subi %x_n1, %c1 : index
  %12 = arith.muli %11, %x_s1 : index
  %13 = arith.muli %12, %c8 : index
  %14 = arith.minsi %13, %c0 : index
  %15 = arith.maxsi %13, %c0 : index
  %16 = arith.addi %9, %14 : index
  %17 = arith.addi %10, %15 : index
  %18 = arith.addi %17, %c8 : index
  %19 = arith.cmpi eq, %x_n0_2, %c0 : index
  %20 = arith.cmpi eq, %x_n1, %c0 : index
  %21 = arith.ori %19, %20 : i1
  %y_base, %y_offset, %y_n0_2, %y_n1, %y_s0, %y_s1 = memref.extract_strided_metadata %y : !f64x2u1 -> memref<f64>, index, index, index, index, index
  %22 = "memref.extract_aligned_pointer_as_index"(%y) : (!f64x2u1) -> index
  %23 = arith.muli %y_offset, %c8 : index
  %24 = arith.addi %22, %23 : index
  %25 = arith.subi %y_n0_2, %c1 : index
  %26 = arith.muli %25, %y_s0 : index
  %27 = arith.muli %26, %c8 : index
  %28 = arith.minsi %27, %c0 : index
  %29 = arith.maxsi %27, %c0 : index
  %30 = arith.addi %24, %28 : index
  %31 = arith.addi %24, %29 : index
  %32 = arith.subi %y_n1, %c1 : index
  %33 = arith.muli %32, %y_s1 : index
  %34 = arith.muli %33, %c8 : index
  %35 = arith.minsi %34, %c0 : index
  %36 = arith.maxsi %34, %c0 : index
  %37 = arith.addi %30, %35 : index
  %38 = arith.addi %31, %36 : index
  %39 = arith.addi %38, %c8 : index
  %40 = arith.cmpi eq, %y_n0_2, %c0 : index
  %41 = arith.cmpi eq, %y_n1, %c0 : index
  %42 = arith.ori %40, %41 : i1
  %c0_i64 = arith.constant 0 : i64
  %c512_i64 = arith.constant 512 : i64
  %c256_i64 = arith.constant 256 : i64
  %c0_0_f64 = arith.constant 0.0 : f64
  %x_n1_1 = memref.dim %x, %c1 : !f64x2u1
  %c2_0_f64 = arith.constant 2.0 : f64
  %x_n0_1 = arith.index_cast %x_n0 : index to i64
  %y_n0_1 = arith.index_cast %y_n0 : index to i64
  %0 = arith.cmpi eq, %x_n0_1, %y_n0_1 : i64
  %43 = arith.cmpi ule, %18, %37 : index
  %44 = arith.cmpi ule, %39, %16 : index
  %45 = arith.subi %x_n1, %c1 : index
  %46 = arith.muli %45, %x_s1 : index
  %47 = arith.muli %46, %c8 : index
  %48 = arith.minsi %47, %c0 : index
  %49 = arith.maxsi %47, %c0 : index
  %50 = arith.addi %3, %48 : index
  %51 = arith.addi %3, %49 : index
  %52 = arith.addi %51, %c8 : index
  %53 = arith.muli %x_s0, %c8 : index
  %54 = arith.subi %y_n1, %c1 : index
  %55 = arith.muli %54, %y_s1 : index
  %56 = arith.muli %55, %c8 : index
  %57 = arith.minsi %56, %c0 : index
  %58 = arith.maxsi %56, %c0 : index
  %59 = arith.addi %24, %57 : index
  %60 = arith.addi %24, %58 : index
  %61 = arith.addi %60, %c8 : index
  %62 = arith.muli %y_s0, %c8 : index
  %63 = math.absi %53 : index
  %64 = arith.maxsi %63, %c1 : index
  %65 = arith.remsi %53, %64 : index
  %66 = arith.cmpi eq, %65, %c0 : index
  %67 = arith.remsi %62, %64 : index
  %68 = arith.cmpi eq, %67, %c0 : index
  %69 = arith.subi %59, %50 : index
  %70 = arith.remsi %69, %64 : index
  %71 = arith.addi %70, %64 : index
  %72 = arith.remsi %71, %64 : index
  %73 = arith.subi %52, %50 : index
  %74 = arith.cmpi sge, %72, %73 : index
  %75 = arith.subi %61, %59 : index
  %76 = arith.addi %72, %75 : index
  %77 = arith.cmpi sle, %76, %64 : index
  %78 = arith.andi %66, %68 : i1
  %79 = arith.andi %78, %74 : i1
  %80 = arith.andi %79, %77 : i1
  %81 = arith.addi %3, %c8 : index
  %82 = arith.muli %x_s0, %c8 : index
  %83 = arith.muli %x_s1, %c8 : index
  %84 = arith.addi %24, %c8 : index
  %85 = arith.muli %y_s0, %c8 : index
  %86 = arith.muli %y_s1, %c8 : index
  %87 = math.absi %83 : index
  %88 = arith.maxsi %87, %c1 : index
  %89 = arith.remsi %82, %88 : index
  %90 = arith.cmpi eq, %89, %c0 : index
  %91 = arith.remsi %83, %88 : index
  %92 = arith.cmpi eq, %91, %c0 : index
  %93 = arith.remsi %85, %88 : index
  %94 = arith.cmpi eq, %93, %c0 : index
  %95 = arith.remsi %86, %88 : index
  %96 = arith.cmpi eq, %95, %c0 : index
  %97 = arith.subi %24, %3 : index
  %98 = arith.remsi %97, %88 : index
  %99 = arith.addi %98, %88 : index
  %100 = arith.remsi %99, %88 : index
  %101 = arith.subi %81, %3 : index
  %102 = arith.cmpi sge, %100, %101 : index
  %103 = arith.subi %84, %24 : index
  %104 = arith.addi %100, %103 : index
  %105 = arith.cmpi sle, %104, %88 : index
  %106 = arith.andi %90, %92 : i1
  %107 = arith.andi %106, %94 : i1
  %108 = arith.andi %107, %96 : i1
  %109 = arith.andi %108, %102 : i1
  %110 = arith.andi %109, %105 : i1
  %111 = arith.cmpi eq, %3, %24 : index
  %112 = arith.cmpi eq, %x_n0_2, %y_n0_2 : index
  %113 = arith.cmpi eq, %x_n1, %y_n1 : index
  %114 = arith.cmpi eq, %x_s0, %y_s0 : index
  %115 = arith.cmpi eq, %x_s1, %y_s1 : index
  %116 = arith.andi %111, %112 : i1
  %117 = arith.andi %116, %113 : i1
  %118 = arith.andi %117, %114 : i1
  %119 = arith.andi %118, %115 : i1
  %120 = arith.ori %43, %44 : i1
  %121 = arith.ori %120, %21 : i1
  %122 = arith.ori %121, %42 : i1
  %123 = arith.ori %122, %80 : i1
  %124 = arith.ori %123, %110 : i1
  %125 = arith.ori %124, %119 : i1
  %126 = arith.select %125, %c0_i64, %c512_i64 : i64
  %127 = arith.select %0, %126, %c256_i64 : i64
  %128 = arith.cmpi eq, %127, %c0_i64 : i64
  %132 = scf.if %128 -> (i64) {
    %s = "scf.parallel"(%c0, %x_n0, %c1, %c0_0_f64) <{operandSegmentSizes = array<i32: 1, 1, 1, 1>}> ({
    ^bb0(%i: index):
      %t = "scf.parallel"(%c0, %x_n1_1, %c1, %c0_0_f64) <{operandSegmentSizes = array<i32: 1, 1, 1, 1>}> ({
      ^bb0(%j: index):
        %x_1 = memref.load %x[%i, %j] : !f64x2u1
        %129 = func.call @tp_mod_f64(%x_1, %c2_0_f64) : (f64, f64) -> f64
        memref.store %129, %y[%i, %j] : !f64x2u1
        %x_2 = memref.load %x[%i, %j] : !f64x2u1
        "scf.reduce"(%x_2) ({
        ^bb0(%a: f64, %b: f64):
          %130 = arith.addf %a, %b : f64
          scf.reduce.return %130 : f64
        }) : (f64) -> ()
      }) : (index, index, index, f64) -> (f64)
      "scf.reduce"(%t) ({
      ^bb0(%a_1: f64, %b_1: f64):
        %131 = arith.addf %a_1, %b_1 : f64
        scf.reduce.return %131 : f64
      }) : (f64) -> ()
    }) : (index, index, index, f64) -> (f64)
    memref.store %s, %total[] : !f64x0
    scf.yield %c0_i64 : i64
  } else {
    scf.yield %127 : i64
  }
  func.return %132 : i64
}
func.func private @tp_mod_f64(%a: f64, %b: f64) -> f64 {
  %zero = arith.constant 0.0 : f64
  %rest = func.call @fmod(%a, %b) : (f64, f64) -> f64
  %below = arith.cmpf olt, %b, %zero : f64
  %under = arith.cmpf olt, %rest, %zero : f64
  %apart = arith.xori %below, %under : i1
  %moved = arith.addf %rest, %b : f64
  %either = arith.select %apart, %moved, %rest : f64
  %signed = math.copysign %zero, %b : f64
  %nothing = arith.cmpf oeq, %rest, %zero : f64
  %some = arith.select %nothing, %signed, %either : f64
  %none = arith.cmpf oeq, %b, %zero : f64
  %r = arith.select %none, %rest, %some : f64
  func.return %r : f64
}
func.func private @fmod(f64, f64) -> f64
